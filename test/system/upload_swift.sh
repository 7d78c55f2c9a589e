#!/bin/bash
# Uploads against a real store, OpenStack Swift's S3 interface: by HTTP and HTTPS, the bucket in
# the path and in the host's name; every report arrives, whole, and every wrong setting has its
# line and leaves the program alone.
. "$(dirname "$0")/upload.inc"
have openssl
have curl
have unzip
/usr/bin/python3 -c 'import swift, eventlet' 2>/dev/null || skip "python3-swift is missing"

# Ten programs at once, to be done soon; what the local reporter keeps is what must arrive.
PROGRAMS=${PROGRAMS:-5} SECONDS_EACH=${SECONDS_EACH:-4}

# objects_are_right: as many as local files, each a zip with both entries, read by their owners.
objects_are_right() {
	local object count=0 local_count

	local_count=$(find "$work/local" -name '*.jfr' | wc -l)
	for object in $(list); do
		get "$object" "$work/o.zip"
		rm -rf "$work/o" && mkdir "$work/o"
		unzip -q "$work/o.zip" -d "$work/o" || fail "$object is no zip file"
		/usr/bin/python3 - "$work/o" "$object" "$work/local" <<-'END' || fail "$object"
			import glob, json, os, re, sys
			at, name, local = sys.argv[1:]
			assert sorted(os.listdir(at)) == ["async_profiler_dump_0.jfr", "metadata.json"]
			m = json.load(open(at + "/metadata.json"))
			assert set(m) == {"start", "end", "reporting_interval", "agent"}, m
			assert m["reporting_interval"] == 1000 and m["start"] < m["end"]
			assert m["agent"]["tags"] == {"team": "a b", "x": "1"}
			pid = m["agent"]["pid"]
			assert re.fullmatch(r"profile_svc_unknown___%d_"
			    r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?\.zip" % pid, name), name
			jfr = open(at + "/async_profiler_dump_0.jfr", "rb").read()
			assert any(open(f, "rb").read() == jfr
			           for f in glob.glob(local + "/*_%d_*.jfr" % pid)), "differs"
		END
		if command -v jfr >/dev/null && [ $((count % 5)) -eq 0 ]; then
			jfr summary "$work/o/async_profiler_dump_0.jfr" >/dev/null ||
				fail "jfr does not read $object"
		fi
		count=$((count + 1))
	done
	echo "$1: $count of $local_count reports arrived"
	[ "$count" -eq "$local_count" ] && [ "$count" -ge $((PROGRAMS * (SECONDS_EACH - 1))) ] ||
		fail "not all arrived"
}

# all_arrive WHAT [NAME=VALUE…]
all_arrive() {
	local what=$1 jobs=()
	shift

	empty
	rm -rf "$work/local"
	for _ in $(seq "$PROGRAMS"); do
		profiled "$SECONDS_EACH" ASPROF_AGENT_LOCAL_DIR="$work/local" ASPROF_AGENT_TAGS='team=a b,x=1' \
			ASPROF_AGENT_PROFILING_GROUP=svc ASPROF_AGENT_EXIT_TIMEOUT=10s "$@" &
		jobs+=($!)
	done
	wait "${jobs[@]}" || fail "$what: a program failed"
	objects_are_right "$what"
}

virtual() {
	printf '[default]\ns3 =\n  addressing_style = virtual\n' >"$work/virtual"
	echo "AWS_CONFIG_FILE=$work/virtual"
}

# goes_wrong WHAT LINE [NAME=VALUE…]: nothing arrives, and the log says LINE once.
goes_wrong() {
	local what=$1 line=$2
	shift 2

	empty
	rm -f "$work/log"
	profiled 2.5 "$@"
	said "$line"
	[ -z "$(list)" ] || fail "$what: something arrived"
	echo "$what: $(grep -- "$line" "$work/log" | sed 's/^asprof-agent[^:]*: //')"
}

certificate good 30
certificate other 30
store
all_arrive 'HTTP, bucket in the path'
all_arrive 'HTTP, bucket in the host name' "$(virtual)" \
	ASPROF_AGENT_S3_ENDPOINT="http://localhost:$port"
goes_wrong 'wrong secret' SignatureDoesNotMatch AWS_SECRET_ACCESS_KEY=wrong
goes_wrong 'unknown bucket' NoSuchBucket ASPROF_AGENT_S3_BUCKET=nowhere
goes_wrong 'no credentials' 'no AWS credentials' AWS_ACCESS_KEY_ID=
goes_wrong 'nobody there' 'onnect' ASPROF_AGENT_S3_ENDPOINT="http://127.0.0.1:1"
kill "$store_pid" && wait "$store_pid" 2>/dev/null

# Twenty minutes ahead of us: more than a signature may be old.
port=$(free_port) SWIFT_AHEAD=1200 store
rm -f "$work/log"
all_arrive 'clock 20 minutes behind the store'
grep -q 'mended for uploads' "$work/log" || fail "the clock was not mended"
kill "$store_pid" && wait "$store_pid" 2>/dev/null

port=$(free_port)
store good
all_arrive 'HTTPS, bucket in the path'
all_arrive 'HTTPS, bucket in the host name' "$(virtual)" \
	ASPROF_AGENT_S3_ENDPOINT="https://localhost:$port"
goes_wrong 'another authority' 'ertificate' AWS_CA_BUNDLE="$work/other.pem"
kill "$store_pid" && wait "$store_pid" 2>/dev/null

if command -v faketime >/dev/null; then
	faketime '2020-01-01' openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj /CN=localhost -keyout "$work/old.key" -out "$work/old.pem" -addext \
		'subjectAltName=IP:127.0.0.1' 2>/dev/null
else
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
		-keyout "$work/old.key" -out "$work/old.csr" 2>/dev/null
	printf 'subjectAltName=IP:127.0.0.1\n' >"$work/old.ext"
	mkdir -p "$work/ca" && : >"$work/ca/index" && echo 01 >"$work/ca/serial"
	printf '[ca]\ndefault_ca=d\n[d]\ndir=%s\ndatabase=$dir/index\nserial=$dir/serial\nnew_certs_dir=$dir\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' \
		"$work/ca" >"$work/ca.cnf"
	openssl ca -batch -config "$work/ca.cnf" -selfsign -keyfile "$work/old.key" -in "$work/old.csr" \
		-extfile "$work/old.ext" -startdate 20200101000000Z -enddate 20200102000000Z \
		-out "$work/old.pem" -notext 2>/dev/null || fail "openssl makes no expired certificate"
fi
port=$(free_port)
store old
goes_wrong 'expired certificate' 'ertificate' AWS_CA_BUNDLE="$work/old.pem"
