#!/bin/sh
# The live endpoint: its values are right, its orders are executed, clients without permission are refused, and its
# socket exists only while the process is profiled.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have curl python3
program=$(program live)

# ---- values ----
socket=$work/s
held one NATIVE_MEM=64k CPU_INTERVAL=1ms WALL_INTERVAL=2ms TAGS=team=blue \
	LISTEN="unix:$socket" "$program" 64
until_true grep -q ready "$work/one.out" || fail "the program does not run: $(cat "$work/one.err")"
until_true test -S "$socket" || fail "no socket"
[ "$(stat -c %a "$socket")" = 600 ] || fail "others may use the socket: $(stat -c %a "$socket")"
answers 200 "$socket" /status
[ "$(status pid)" = "$pid" ] && [ "$(status executable)" = live ] && [ "$(status running)" = true ] &&
	[ "$(status settings cpu_interval_ns)" = 1000000 ] && [ "$(status settings tags)" = team=blue ] &&
	[ "$(status native_memory)" = true ] || fail "status: $(cat "$work/body")"
# The agent's own CPU time and memory, and losses by kind: nothing was refused here.
[ "$(status agent memory_bytes)" -gt 65536 ] && [ "$(status agent memory_bytes)" -lt 67108864 ] &&
	[ "$(status lost_by_kind events)" = 0 ] && [ "$(status lost_by_kind timers)" = 0 ] &&
	[ "$(status settings stalls_ns)" = null ] || fail "status: $(cat "$work/body")"

answers 200 "$socket" '/debug/pprof/heap?debug=1'
held_bytes=$(samples 'main;hold' <"$work/body")
# (A thousand samples: few enough to be stored while the collector waits for a processor.)
within 15 $((64 << 20)) "$held_bytes" "retained by hold()"
answers 200 "$socket" '/debug/pprof/allocs?debug=1'
within 15 $((64 << 20)) "$(samples 'main;hold' <"$work/body")" "allocated by hold()"
answers 200 "$socket" '/debug/pprof/profile?seconds=1.5&debug=1'
grep -q 'main;spin' "$work/body" || fail "no CPU time in spin(): $(cat "$work/body")"
answers 200 "$socket" '/debug/pprof/wall?seconds=0.5&debug=1'
grep -q 'wait_here' "$work/body" || fail "no thread that waits: $(cat "$work/body")"
# One stack of each thread, also if wall-clock samples are taken at the same time.
for turn in 1 2 3 4 5 6 7 8 9 10; do
	answers 200 "$socket" '/debug/pprof/threads?debug=1'
	[ "$(grep -c '^\[live tid=' "$work/body")" = 2 ] || fail "turn $turn: not two threads: $(cat "$work/body")"
done
for what in heap allocs 'profile?seconds=0.3'; do
	answers 200 "$socket" "/debug/pprof/$what"
	[ "$(head -c 2 "$work/body" | od -An -tx1 | tr -d ' ')" = 1f8b ] || fail "$what is no pprof"
done
answers 200 "$socket" '/flamegraph?seconds=0.5'
grep -q "<html\|<!doctype" "$work/body" || fail "no flame graph"
answers 200 "$socket" '/recording?seconds=0.5'
"$agent" summary "$work/body" >/dev/null 2>&1 || {
	cp "$work/body" "$work/taken.jfr"
	"$agent" summary "$work/taken.jfr" >/dev/null || fail "the recording cannot be read"
}

# ---- metrics, in both formats ----
for accept in text/plain 'application/openmetrics-text; version=1.0.0'; do
	answers 200 "$socket" /metrics -H "Accept: $accept"
	python3 - "$work/body" "$accept" <<'PARSE' || fail "/metrics as $accept: $(cat "$work/body")"
import re, sys
text = open(sys.argv[1]).read()
modern = 'openmetrics' in sys.argv[2]
assert text.endswith('# EOF\n' if modern else '\n')
types, seen = {}, {}
for line in text.splitlines():
    if line == '# EOF':
        break
    if line.startswith('# '):
        kind, name, rest = line[2:].split(' ', 2)
        assert kind in ('TYPE', 'HELP', 'UNIT'), line
        if kind == 'TYPE':
            assert name not in types and rest in ('gauge', 'counter', 'info'), line
            types[name] = rest
        if kind == 'UNIT':
            assert name.endswith('_' + rest), line
        continue
    m = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)', line)
    assert m, line
    family = m[1]
    if modern and family.endswith('_total'):
        family = family[:-6]
        assert types[family] == 'counter', line
    if modern and family.endswith('_info'):
        family = family[:-5]
    assert family in types, line
    seen[m[1]] = float(m[3])
assert seen['asprof_agent_running'] == 1 and seen['asprof_agent_samples_total'] > 0
PARSE
done

# ---- orders ----
answers 409 "$socket" /start -X POST
answers 405 "$socket" /stop
answers 200 "$socket" /stop -X POST
answers 409 "$socket" /stop -X POST
answers 409 "$socket" /debug/pprof/heap
answers 200 "$socket" /status
[ "$(status running)" = false ] || fail "it goes on: $(cat "$work/body")"
taken=$(status samples taken)
[ "$(cat /proc/"$pid"/timers 2>/dev/null)" = "" ] || fail "there are timers still"
sleep 0.3
answers 200 "$socket" /status
[ "$(status samples taken)" = "$taken" ] || fail "samples are taken still"
answers 200 "$socket" /start -X POST
answers 400 "$socket" /options -d 'CPU_INTERVAL=10 parsecs'
grep -q '10 parsecs is not accepted' "$work/body" || fail "a wrong value: $(cat "$work/body")"
answers 400 "$socket" /options -d LOCAL_DIR=/tmp
answers 400 "$socket" /options -d 'CPU_INTERVAL=off&WALL_INTERVAL=off&NATIVE_MEM=off'
answers 200 "$socket" /options -d 'CPU_INTERVAL=7ms&NATIVE_MEM=off' -d 'TAGS=team=red'
answers 403 "$socket" /debug/pprof/heap
[ "$(wc -l <"$work/body")" = 1 ] || fail "403 in more than a line"
answers 200 "$socket" /status
[ "$(status settings cpu_interval_ns)" = 7000000 ] && [ "$(status settings tags)" = team=red ] ||
	fail "not set: $(cat "$work/body")"
sleep 0.5
answers 200 "$socket" /flush -X POST
until_true sh -c "'$agent' summary --tag team=red '$work/one' | grep -q '^Span'" ||
	fail "no report with the tag that was set"
answers 404 "$socket" /none
answers 413 "$socket" "/$(head -c 4000 /dev/zero | tr '\0' x)"

# ---- clients without permission ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$work"
	chmod 666 "$socket"
	got=$(setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS --max-time 20 -o /dev/null \
		-w '%{http_code}' --unix-socket "$socket" http://localhost/status 2>/dev/null)
	[ "$got" = 000 ] || fail "another user was answered: $got"
	answers 200 "$socket" /status
fi

# ---- its end ----
kill "$pid"
wait "$pid" 2>/dev/null
[ ! -e "$socket" ] || fail "the socket stays"

# ---- at an address ----
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
held two LISTEN="127.0.0.1:$port" LISTEN_TOKEN=s3cret "$program"
code() {
	curl -s --max-time 20 -o /dev/null -w '%{http_code}' "$@"
}
until_true test "$(code "http://127.0.0.1:$port/status")" || :
until_true sh -c "curl -s http://127.0.0.1:$port/status -o /dev/null" || fail "no server listens at $port"
[ "$(code "http://127.0.0.1:$port/status")" = 401 ] || fail "without the token"
[ "$(code -H 'Authorization: Bearer s3crets' "http://127.0.0.1:$port/status")" = 401 ] || fail "a wrong token"
[ "$(code -H 'Authorization: Bearer s3cret' "http://127.0.0.1:$port/status")" = 200 ] || fail "with the token"
[ "$(code -H 'Authorization: Bearer s3cret' -X POST "http://127.0.0.1:$port/stop")" = 200 ] || fail "stopped with the token"
[ "$(code -H 'Authorization: Bearer s3cret' -H 'Sec-Fetch-Site: cross-site' "http://127.0.0.1:$port/status")" = 403 ] ||
	fail "for a page, with the token"
kill "$pid"
wait "$pid" 2>/dev/null
held three LISTEN="127.0.0.1:$port" "$program"
until_true sh -c "curl -s http://127.0.0.1:$port/status -o /dev/null" || fail "no server listens at $port"
[ "$(code "http://127.0.0.1:$port/status")" = 200 ] || fail "from this machine"
[ "$(code -H 'Origin: http://evil.example' "http://127.0.0.1:$port/status")" = 403 ] || fail "for a page"
[ "$(code -H 'Host: evil.example' "http://127.0.0.1:$port/status")" = 403 ] || fail "by another name"
# raw HEADER...: the status of GET /status with exactly these headers, without curl's own.
raw() {
	python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall("\r\n".join(["GET /status HTTP/1.1"] + sys.argv[2:] + ["", ""]).encode())
print(s.makefile("rb").readline().decode().split()[1])' "$port" "$@"
}
for site in cross-site same-site '' NONE 'none, cross-site'; do
	[ "$(raw 'Host: 127.0.0.1' "Sec-Fetch-Site: $site")" = 403 ] || fail "for a page: Sec-Fetch-Site: $site"
done
for site in none same-origin; do
	[ "$(raw 'Host: 127.0.0.1' "Sec-Fetch-Site: $site")" = 200 ] || fail "for the user: Sec-Fetch-Site: $site"
done
# Browsers do not send Sec-Fetch-Site to these addresses, which also lead to loopback.
for host in 0.0.0.0 '[::]' '[::ffff:7f00:1]' 10.1.2.3 '[evil.example]' '127.0.0.1:80@evil.example' ':80'; do
	[ "$(raw "Host: $host")" = 403 ] || fail "by another address: $host"
done
for host in 127.0.0.1:80 127.1.2.3 '[::1]' '[::1]:80' localhost LOCALHOST:80 ''; do
	[ "$(raw "Host: $host")" = 200 ] || fail "on loopback: $host"
done
[ "$(raw 'Host: 127.0.0.1')" = 200 ] && [ "$(raw 'Host: evil.example')" = 403 ] &&
	[ "$(raw 'Host: evil.example' 'Host: 127.0.0.1')" = 400 ] &&
	[ "$(raw 'Host: 127.0.0.1' 'Host: evil.example')" = 400 ] || fail "two hosts"
# Every response forbids pages to frame or embed it.
for path in / /none /status /stop; do
	curl -s -D "$work/head" -o "$work/body" "http://127.0.0.1:$port$path"
	for header in '^X-Frame-Options: DENY' "^Content-Security-Policy: default-src 'none';.* frame-ancestors 'none'" \
		'^Cross-Origin-Resource-Policy: same-origin'; do
		grep -q "$header" "$work/head" || fail "$path: no $header: $(cat "$work/head")"
	done
done
# Without a token, TCP requests change nothing.
for path in /stop /start /flush /options; do
	[ "$(curl -s -o "$work/body" -w '%{http_code}' -d LOG=debug "http://127.0.0.1:$port$path")" = 403 ] ||
		fail "POST $path without a token"
	grep -q ASPROF_AGENT_LISTEN_TOKEN "$work/body" || fail "$path: not said how: $(cat "$work/body")"
done
curl -s -o "$work/body" "http://127.0.0.1:$port/status"
[ "$(status running)" = true ] && [ "$(status settings log)" = warn ] || fail "changed: $(cat "$work/body")"

# ---- the default: in a directory of this user, removed with the process, and by the next one after a crash ----
runtime=$work/run
mkdir -m 700 "$runtime"
own=$runtime/asprof-agent
[ "$(id -u)" = 0 ] && own=/run/asprof-agent
sockets() {
	for each in "$own/$1"-*.sock; do
		[ ! -e "$each" ] || basename "$each"
	done
}
export XDG_RUNTIME_DIR="$runtime"
held four "$program"
until_true sh -c "ls '$own' | grep -q '^$pid-'" || skip_rest=1
[ -z "${skip_rest:-}" ] || fail "no socket in $own"
[ "$(stat -c %a "$own")" = 700 ] || fail "others may enter $own"
answers 200 "$own/$(sockets "$pid")" /status
kill -9 "$pid"
wait "$pid" 2>/dev/null
[ -n "$(sockets "$pid")" ] || fail "a dead one was to stay"
dead=$(sockets "$pid")
touch -d '1 minute ago' "$own/$dead"
# A new process does not connect to sockets of live ones.
python3 - "$own" "$work/asked" <<'LISTEN' &
import os, socket, sys, time
path = f'{sys.argv[1]}/{os.getpid()}-0123456789abcdef.sock'
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen()
os.utime(path, (time.time() - 60,) * 2)
open(sys.argv[2] + '.ready', 'w').close()
try:
    s.accept()
    open(sys.argv[2], 'w').close()
finally:
    os.unlink(path)
LISTEN
listening=$!
running="$running $listening"
until_true test -e "$work/asked.ready" || fail "no server listens in $own"
held five "$program"
until_true sh -c "ls '$own' | grep -q '^$pid-'" || fail "no socket in $own"
until_true test ! -e "$own/$dead" || fail "the dead one's is there still"
[ ! -e "$work/asked" ] || fail "a socket of a process that is there was asked whether it is"
kill "$listening"
rm -f "$own/$listening-"*
kill "$pid"
wait "$pid" 2>/dev/null
[ -z "$(sockets "$pid")" ] || fail "the socket stays"

# Never before the end of the delay.
held six START_DELAY=1h "$program"
sleep 0.7
[ -z "$(sockets "$pid")" ] || fail "a socket before the start"
