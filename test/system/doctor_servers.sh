#!/bin/bash
# `asprof-agent doctor` sends the requests of the reporters to the Pyroscope and the OTLP server, with their headers.
# For a running process it reports the state of its profiler: a failed delivery, or a stopped profiler.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have python3
export XDG_RUNTIME_DIR="$work" TMPDIR="$work" ASPROF_AGENT_LOCAL_DIR="$work/reports"
mkdir "$work/reports"

# The server keeps the bodies that it accepts.
cat >"$work/server.py" <<'END'
import gzip, http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        first, rest = self.path.lstrip('/').split('/', 1)
        kind = self.headers.get('Content-Type')
        known = {'ingest': 'application/octet-stream', 'v1development/profiles': 'application/x-protobuf'}
        status = {'good': 200, 'partly': 200, 'refuses': 401, 'forbids': 403, 'busy': 503, 'strict': 400, 'moved': 302}.get(first, 404)
        if first == 'tenant':
            status = 200 if self.headers.get('X-Scope-OrgID') == 'a b' else 401
        if known.get(rest.split('?')[0]) != kind:
            status = 404
        if status == 200 and body:
            with open(os.path.join(sys.argv[1], 'accepted'), 'ab') as file:
                try: body = gzip.decompress(body)
                except OSError: pass
                file.write(b'\n' + self.path.encode() + b'\n' + body)
        # ExportProfilesServiceResponse.partial_success: one rejected profile, "no"
        answer = b'\x0a\x06\x08\x01\x12\x02no' if first == 'partly' else b''
        self.send_response(status)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def do_PUT(self):
        status, code = (200, '') if self.path.startswith('/bucket/') else (403, '<Error><Code>AccessDenied</Code></Error>')
        body = self.rfile.read(int(self.headers['Content-Length']))
        if status == 200:
            with open(os.path.join(sys.argv[1], 'put'), 'wb') as file:
                file.write(body)
            with open(os.path.join(sys.argv[1], 'key'), 'w') as file:
                file.write(self.path)
        self.send_response(status)
        self.send_header('Content-Length', str(len(code)))
        self.end_headers()
        self.wfile.write(code.encode())
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
mkfifo "$work/port"
python3 "$work/server.py" "$work" >"$work/port" &
running="$running $!"
read -r port <"$work/port"
url=http://127.0.0.1:$port

# finds STATUS PATTERN ARGUMENT...: a line of doctor matches, and the exit status is STATUS; "": no finding.
finds() {
	"$agent" doctor "${@:3}" >"$work/out" 2>&1
	status=$?
	if [ -n "$2" ]; then
		grep -qE "^$2" "$work/out"
	else
		! grep -E '^(stop|note)' "$work/out" | grep -qvE '^note  (seccomp|exit): '
	fi && [ $status = "$1" ] || fail "'$2', status $1: got $status: $(cat "$work/out")"
}

for server in 'pyroscope PYROSCOPE_URL PYROSCOPE_HEADERS' 'otlp OTLP_ENDPOINT OTLP_HEADERS'; do
	read -r name address headers <<<"$server"
	(
		export "ASPROF_AGENT_$address=$url/good"
		finds 0 ''
		export "ASPROF_AGENT_$address=$url/strict/" # the server was reached, and the message had no profile
		finds 0 ''
		export "ASPROF_AGENT_$address=$url/refuses"
		finds 1 "stop  $name: $url/refuses answers 401"
		grep -q "^      Correct ASPROF_AGENT_$headers" "$work/out" || fail "$(cat "$work/out")"
		export "ASPROF_AGENT_$address=$url/forbids"
		finds 1 "stop  $name: .* 403"
		export "ASPROF_AGENT_$address=$url/elsewhere"
		finds 1 "stop  $name: .* 404"
		grep -q "^      Correct ASPROF_AGENT_$address" "$work/out" || fail "$(cat "$work/out")"
		export "ASPROF_AGENT_$address=$url/moved"
		finds 1 "stop  $name: .* 302"
		export "ASPROF_AGENT_$address=$url/busy"
		finds 0 "note  $name: .* 503"
		export "ASPROF_AGENT_$address=$url/tenant"
		finds 1 "stop  $name: .* 401"
		value='a b'
		[ $name = pyroscope ] || value=a%20b
		export "ASPROF_AGENT_$headers=X-Scope-OrgID=$value"
		finds 0 ''
		export "ASPROF_AGENT_$address=http://127.0.0.1:1"
		finds 1 "stop  $name: http://127.0.0.1:1 cannot be reached"
	) || exit 1
done

# ---- --send: a small report to each destination ----
name=asprof-agent-doctor
(
	export ASPROF_AGENT_METADATA=none AWS_EC2_METADATA_DISABLED=true HOME="$work" OTEL_SERVICE_NAME=shop
	export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=secret AWS_REGION=us-east-1
	export ASPROF_AGENT_S3_BUCKET=bucket ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_PROFILING_GROUP=shop
	export ASPROF_AGENT_PYROSCOPE_URL="$url/good" ASPROF_AGENT_OTLP_ENDPOINT="$url/good"
	export ASPROF_AGENT_LOCAL_MAX_BYTES=64k
	rm -f "$work/accepted"
	head -c 100000 /dev/zero >"$work/reports/shop_1_2026-01-01T00-00-00Z.jfr"
	finds 0 "sent  pyroscope $url/good: delivered as $name" --send
	for line in "local $work/reports" 's3 127.0.0.1:[0-9]* bucket/' "otlp $url/good"; do
		grep -qE "^sent  $line: delivered as $name" "$work/out" || fail "$line: $(cat "$work/out")"
	done
	[ -e "$work/reports/shop_1_2026-01-01T00-00-00Z.jfr" ] || fail "a profile was deleted for the report"
	rm "$work/reports/shop_1_2026-01-01T00-00-00Z.jfr"
	"$agent" collapsed "$work"/reports/${name}_*.jfr | grep -q 'doctor_send 1' || fail "no sample: $(ls "$work/reports")"
	grep -q "^/bucket/profile_${name}_" "$work/key" || fail "the key: $(cat "$work/key")"
	mv "$work/put" "$work/put.zip" && "$agent" collapsed "$work/put.zip" | grep -q 'doctor_send 1' || fail "no sample in the bucket"
	grep -aq "^/good/ingest?.*$name" "$work/accepted" || fail "Pyroscope: $(cat -v "$work/accepted")"
	grep -A99 -a '^/good/v1development/profiles' "$work/accepted" | grep -aq "$name" || fail "OTLP: $(cat -v "$work/accepted")"
	! grep -aq shop "$work/accepted" || fail "the report has the name of the program: $(cat -v "$work/accepted")"
	export ASPROF_AGENT_OTLP_ENDPOINT="$url/partly"
	finds 0 'note  send: no delivery to otlp: taken in part: .*no' --send
	export ASPROF_AGENT_S3_BUCKET=forbidden ASPROF_AGENT_PYROSCOPE_URL="$url/refuses" ASPROF_AGENT_OTLP_ENDPOINT=http://127.0.0.1:1
	finds 1 'stop  send: no upload to the bucket forbidden: .*AccessDenied' --send
	grep -q '^      .*s3:PutObject' "$work/out" || fail "no remedy: $(cat "$work/out")"
	grep -q '^stop  send: no delivery to pyroscope: .* 401' "$work/out" || fail "Pyroscope: $(cat "$work/out")"
	grep -q '^stop  send: no delivery to otlp: http://127.0.0.1:1: ' "$work/out" || fail "OTLP: $(cat "$work/out")"
	grep -q '^sent  local ' "$work/out" || fail "not the directory: $(cat "$work/out")"
	env --ignore-signal=CHLD "$agent" doctor --send >"$work/out"
	[ $? = 1 ] && grep -q '^stop  send: no delivery to pyroscope: .* 401' "$work/out" ||
		fail "with SIGCHLD ignored: $(cat "$work/out")"
	"$agent" doctor --json --send | python3 -c 'import json, sys
found = json.load(sys.stdin)
assert [(s["destination"].split()[0], s["delivered"], bool(s["problem"])) for s in found["sent"]] == [
    ("local", True, False), ("s3", False, True), ("pyroscope", False, True), ("otlp", False, True)], found' ||
		fail "--json: $("$agent" doctor --json --send)"
	rm "$work"/reports/${name}_*
) || exit 1
"$agent" doctor --send $$ >"$work/out" 2>&1
[ $? = 2 ] && [ "$(wc -l <"$work/out")" = 2 ] || fail "--send with a PID: $(cat "$work/out")"

# ---- the state of the process ----
program=$(program live)
held one LOCAL_DIR="$work/reports" EXIT_TIMEOUT=1s PYROSCOPE_URL="$url/refuses" REPORTING_INTERVAL=1s CPU_INTERVAL=5ms "$program"
one=$pid
until_true sh -c "'$agent' status $one | grep -q 'pyroscope last error  *[A-Z]'" ||
	fail "no failed delivery: $("$agent" status "$one" 2>&1)"
finds 1 'stop  pyroscope: .* 401' "$one"
finds 1 'stop  delivery: the last delivery to pyroscope failed: Permission denied' "$one"
held two LOCAL_DIR="$work/reports" CPU_INTERVAL=5ms "$program"
two=$pid
until_true "$agent" status "$two" || fail "no endpoint: $("$agent" status "$two" 2>&1)"
finds 0 '' "$two"
"$agent" stop "$two" || fail "it is not stopped"
finds 1 'stop  session: its profiler is stopped' "$two"
"$agent" start "$two" || fail "it does not go on"
finds 0 '' "$two"
echo ok
