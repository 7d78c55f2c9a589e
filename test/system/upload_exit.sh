#!/bin/bash
# A store that never answers, and one that does not accept connections. Exit and SIGTERM are delayed by little more
# than EXIT_TIMEOUT, and a line reports the loss. With a spool the next program delivers the rest.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"

# hole.py ACCEPTS: listens. 1: accepts connections and never answers. 2: accepts, and sends a byte of a header each
# second. 0: its queue is full, so the handshakes of others are dropped, as by a firewall.
cat >"$work/hole.py" <<'END'
import socket, sys, threading, time
hole = socket.socket()
hole.bind(('127.0.0.1', 0))
accepts = sys.argv[1] != '0'
hole.listen(64 if accepts else 0)
port = hole.getsockname()[1]
held = []
if not accepts:
    while True:
        filler = socket.socket()
        filler.settimeout(1)
        held.append(filler)
        try:
            filler.connect(('127.0.0.1', port))
        except socket.timeout:
            break
print(port, flush=True)
def trickle(connection):
    try:
        connection.recv(65536)
        connection.sendall(b'HTTP/1.1 200 OK\r\n')
        while True:
            connection.sendall(b'x')
            time.sleep(1)
    except OSError:
        pass
while True:
    if accepts:
        held.append(hole.accept())
        if sys.argv[1] == '2':
            threading.Thread(target=trickle, args=held[-1][:1], daemon=True).start()
    else:
        time.sleep(60)
END

hole() {
	: >"$work/hole"
	/usr/bin/python3 "$work/hole.py" "$1" >"$work/hole" &
	pids+=($!)
	until_true [ -s "$work/hole" ] || fail "no hole"
	url=http://127.0.0.1:$(cat "$work/hole")
}

lost='[0-9]* reports* w[a-z]* not delivered and [a-z]* lost; set ASPROF_AGENT_SPOOL_DIR'

# delayed WHAT HOW TIMEOUT: the delay of a program's end, and its message. On a busy machine the agent may get no
# processor between its time limit and the end of the program. So one of five programs must have the message.
delayed() {
	for _ in 1 2 3 4 5; do
		ends "$@"
		! grep -q "$lost" "$work/log" || break
	done
	said "$lost"
}

# A program that waited for the response would wait at least the five seconds that a connection may take.
ends() {
	local what=$1 how=$2 timeout=$3 before took status

	rm -f "$work/log"
	env AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" AWS_REGION=us-east-1 \
		AWS_EC2_METADATA_DISABLED=true ASPROF_AGENT_S3_BUCKET=reports \
		ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_ENGINE=builtin \
		ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_START_DELAY=0 \
		ASPROF_AGENT_LOG_FILE="$work/log" ASPROF_AGENT_EXIT_TIMEOUT="${timeout}s" \
		LD_PRELOAD="$preload" /usr/bin/python3 -u -c '
import sys, time
print("begun")
sys.stdin.read() if sys.argv[1] == "exit" else time.sleep(60)
print(time.time_ns())' "$how" <"$work/stdin" >"$work/out" &
	local pid=$!
	exec 9>"$work/stdin"
	until_true grep -q begun "$work/out" || fail "the program does not begin"
	sleep 1.5
	before=$(date +%s%N)
	exec 9>&-
	[ "$how" = exit ] || kill -TERM $pid
	wait $pid
	status=$?
	took=$((($(date +%s%N) - before) / 1000000))
	echo "$what, $how, EXIT_TIMEOUT=${timeout}s: ended after $took ms"
	[ $status -eq "$([ "$how" = exit ] && echo 0 || echo 143)" ] || fail "status $status"
	[ $took -lt $((timeout * 1000 + 4500)) ] || fail "that took too long"
	# Otherwise the time would not have been used to deliver.
	[ $took -ge $((timeout * 1000 - 100)) ] || fail "it did not even try"
}
mkfifo "$work/stdin"
hole 1
delayed 'no answer' exit 1
delayed 'no answer' SIGTERM 1
hole 2
delayed 'a trickle' exit 1
hole 0
delayed 'no connection' exit 1
delayed 'no connection' exit 2
delayed 'no connection' SIGTERM 1

rm -f "$work/log"
profiled 2.5 ASPROF_AGENT_EXIT_TIMEOUT=1s ASPROF_AGENT_SPOOL_DIR="$work/spool"
left=$(find "$work/spool" -name '*.jfr' | wc -l)
[ "$left" -ge 2 ] || fail "the spool kept $left"
! grep 'lost' "$work/log" || fail "what the spool keeps is not lost"
# The store returns at the same address.
end "${pids[-1]}"
port=${url##*:} store
profiled 2.5 ASPROF_AGENT_SPOOL_DIR="$work/spool"
[ "$(list | wc -l)" -ge $((left + 2)) ] || fail "of $left in the spool, with new ones: $(list)"
[ -z "$(find "$work/spool" -type f)" ] || fail "the spool holds $(ls -A "$work/spool")"
echo "$left were left in the spool, and delivered by the next program"
