#!/bin/bash
# A program that lowers its limit of descriptors below what the live endpoint needs: the endpoint's thread does not run in
# a loop. Connections stay in the backlog until the limit permits them. The endpoint ends if it cannot even wait.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have python3
for_everybody
chmod 777 "$work"
# The agent's threads of root compare themselves with the program regularly, and end if they cannot.
as_user=
[ "$(id -u)" != 0 ] || as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
[ -z "$as_user" ] || have setpriv

program=$(program few_files)
chmod 755 "$program"

cat >"$work/client.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    print('asks', flush=True)
    s.sendall(b'GET /status HTTP/1.1\r\n\r\n')
    print(s.recv(12).decode(), flush=True)
except OSError as e:
    print('asks in vain', e, flush=True)
END

# begin NAME LIMIT: start the program, ask when the limit is set; $thread is the directory of the endpoint's thread.
begin() {
	# shellcheck disable=SC2086 # words
	held "$1" WAITS=off LISTEN="unix:$work/$1.sock" $as_user "$program" "$2"
	until_true grep -q ready "$work/$1.out" || fail "the program does not run: $(cat "$work/$1.err")"
	until_true "$agent" status "$pid" || fail "no endpoint: $("$agent" status "$pid" 2>&1)"
	for thread in /proc/"$pid"/task/*; do
		[ "$(cat "$thread/comm")" != asprof-live ] || break
	done
	kill -USR1 "$pid"
	until_true grep -q limited "$work/$1.out" || fail 'no limit is set'
	python3 "$work/client.py" "$work/$1.sock" >"$work/$1.answer" 2>&1 &
	client=$!
	running="$running $client"
	until_true grep -q asks "$work/$1.answer" || fail "$(cat "$work/$1.answer")"
}

# True if the thread sleeps in most of 20 looks.
thread_sleeps() {
	asleep=0
	for _ in {1..20}; do
		! grep -q '^State:.S' "$thread/status" || asleep=$((asleep + 1))
		sleep 0.02
	done
	[ "$asleep" -gt 10 ]
}

begin accepts 3
thread_sleeps || fail 'the thread runs all the time while it cannot accept a connection'
kill -USR2 "$pid"
until_true grep -q '^HTTP/1.1 200' "$work/accepts.answer" ||
	fail "no answer after the limit was raised again: $(cat "$work/accepts.answer")"

begin waits 1
until_true sh -c "! [ -e '$thread' ]" || fail 'the endpoint does not end where poll(2) permits no descriptor'
kill "$pid"
wait "$pid"
[ $? = 143 ] || fail 'the program ended otherwise than by the signal'
