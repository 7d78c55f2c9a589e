#!/bin/bash
# A thread that does not have the C library's thread pointer works on, and so does a program's handler in it. Such a
# thread is not sampled; the others are, and a thread is again after it had another pointer for a while.
. "$(dirname "$0")/agent.inc"

thread_pointers=$(program thread_pointers) || exit 1

# expect ENGINE HOW
expect() {
	rm -rf "$work/reports"
	out=$(profiled "$work/reports" "$1" CPU_INTERVAL=1ms WALL_INTERVAL=1ms "$thread_pointers" "$2" 2>"$work/err")
	status=$?
	[ "$status $out$(cat "$work/err")" = "0 ok" ] || fail "$1, $2: status $status, $out, $(cat "$work/err")"
	for kind in cpu wall; do
		found=$("$agent" collapsed --$kind "$work/reports" | samples ';work_after(;|$)')
		[ "$found" -ge 20 ] || fail "$1, $2: $found samples of work_after, $kind"
	done
}

for how in own shared switches handler; do
	[ "$("$thread_pointers" $how)" = ok ] || fail "$how: fails by itself"
	for engine in $(engines); do
		# (async-profiler also interrupts a thread whose stack has no space.)
		[ "$how $engine" = "shared async-profiler" ] || expect "$engine" $how
	done
done
echo ok
