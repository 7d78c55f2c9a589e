#!/bin/bash
# CPU time of one delivery of a recording of 50 kB, the memory that it adds, and the size of the client: the agent,
# curl and the AWS command line, by HTTP and HTTPS, with the same object to the tests' strict store. (curl's
# signatures cannot have the colon of Swift's keys.) Medians of ROUNDS (9).
ROUNDS=${ROUNDS:-9}
B=$(cd "${B:-build}" && pwd)
cd "$(dirname "$0")/../.." || exit 1
. test/system/upload.inc
. test/system/strict.inc
have curl
have openssl
certificate good
export AWS_ACCESS_KEY_ID=$access AWS_SECRET_ACCESS_KEY=$secret AWS_REGION=us-east-1 \
	AWS_EC2_METADATA_DISABLED=true AWS_CA_BUNDLE="$work/good.pem" \
	AWS_REQUEST_CHECKSUM_CALCULATION=when_required

# measured COMMAND…: "milliseconds of CPU, peak kilobytes" of a process and its children.
measured() {
	/usr/bin/python3 - "$@" <<-'END'
		import os, subprocess, sys
		process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL,
		                           stdout=subprocess.DEVNULL)
		_, status, usage = os.wait4(process.pid, 0)
		if status:
		    sys.exit('%s: status %d' % (sys.argv[1], os.waitstatus_to_exitcode(status)))
		print('%.3f %d' % ((usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss))
	END
}

ours() {
	BY=s3 URL=$1 RECORDING=test/fixtures/jfr/native.jfr LENGTH=50000 "$B/test/bench/deliver"
}
by_curl() {
	measured curl -sS --fail --noproxy '*' --cacert "$work/good.pem" --aws-sigv4 aws:amz:us-east-1:s3 \
		--user "$access:$secret" -H "x-amz-content-sha256: $sum" \
		-H 'Content-Type: application/zip' -X PUT --data-binary "@$work/object.zip" \
		"$1/reports/curl.zip"
}
by_aws() {
	measured "$aws" --endpoint-url "$1" s3api put-object --bucket reports --key aws.zip \
		--content-type application/zip --body "$work/object.zip"
}

median() { # FILE FIELD
	awk -v f="$2" '{ print $f }' "$1" | sort -n | sed -n "$(((ROUNDS + 1) / 2))p"
}
row() { # NAME CPU MEMORY
	printf '  %-34s %10s ms %8sx %8s kB\n' "$1" "$2" \
		"$(awk -v a="$2" -v b="$later" 'BEGIN { printf "%.1f", a / b }')" "$3"
}

aws=$(command -v /usr/bin/aws || command -v aws) || echo "the AWS command line is missing (awscli)"
rivals=(curl ${aws:+aws})
# The data: the object that the agent makes.
make_object() {
	/usr/bin/python3 - "$work/object.zip" <<-'END'
		import sys, zipfile
		data = open('test/fixtures/jfr/native.jfr', 'rb').read(50000)
		with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as out:
		    out.writestr('async_profiler_dump_0.jfr', data)
		    out.writestr('metadata.json', '{"start":1,"end":2,"reporting_interval":1000}')
	END
	sum=$(sha256sum "$work/object.zip" | cut -d' ' -f1)
}
make_object

# The memory is what the first delivery adds to the agent's process, and the total of a rival's.
compare() { # SCHEME URL
	local i rival

	rm -f "$work"/ours "$work"/curl "$work"/aws
	for ((i = 0; i < ROUNDS; i++)); do
		ours "$2" >>"$work/ours" || fail "the agent cannot deliver by $1"
		for rival in "${rivals[@]}"; do
			"by_$rival" "$2" >>"$work/$rival" || fail "$rival cannot deliver by $1"
		done
	done
	later=$(median "$work/ours" 2)
	echo "$1, zipped to $(wc -c <"$work/object.zip") bytes (the agent zips each time)"
	row 'agent, a later report' "$later" -
	row 'agent, the first report' "$(median "$work/ours" 1)" "$(median "$work/ours" 3)"
	for rival in "${rivals[@]}"; do
		row "$rival, a process for it" "$(median "$work/$rival" 1)" "$(median "$work/$rival" 2)"
	done
}

store
compare HTTP "$url"
store_stop
store good
compare HTTPS "$url"

# closure FILE…: bytes of the files and of the libraries that they load, without libc's own.
closure() {
	{
		printf '%s\n' "$@"
		ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'
	} | grep -v '/libc\.so\|/ld-linux\|/libm\.so' | sort -u | xargs -d '\n' stat -L -c %s |
		awk '{ sum += $1 } END { printf "%.1f MB in %d files", sum / 1e6, NR }'
}
strip -o "$work/preload.so" "$B/libasprof_preload.so"
echo "size: agent $(closure "$work/preload.so") (stripped, profiler and all)"
echo "      curl $(closure "$(command -v curl)")"
if dpkg -L awscli >/dev/null 2>&1; then
	dpkg -L awscli | xargs -d '\n' stat -c '%F %s' |
		awk '$1 == "regular" { sum += $NF; n++ }
			END { printf "      aws %.1f MB in %d files, without python3\n", sum / 1e6, n }'
fi
