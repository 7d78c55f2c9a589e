#!/bin/bash
# A thread that ends has its program's signal mask until its end. It answers when another thread changes the user of
# all threads. The functions that run last may fault if the program has a handler.
. "$(dirname "$0")/agent.inc"

thread_ends=$(program thread_ends)

# expect ENGINE HOW [VARIABLE=value...]
expect() {
	engine=$1 how=$2
	shift 2
	out=$(profiled "$work/reports" "$engine" "$@" timeout 60 "$thread_ends" "$how" 2>"$work/err")
	status=$?
	[ "$status $out$(cat "$work/err")" = "0 ok" ] ||
		fail "$engine, $how $*: status $status, $out, $(cat "$work/err")"
}

for how in user fault; do
	[ "$("$thread_ends" $how)" = ok ] || fail "$how: fails by itself"
	for engine in $(engines); do
		expect "$engine" "$how" START_DELAY=100ms
		expect "$engine" "$how" CPU_INTERVAL=1ms WALL_INTERVAL=1ms
	done
done
[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "no report"
echo ok
