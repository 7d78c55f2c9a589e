#!/bin/bash
# Destructors of thread-local data that run behind ours, and are sampled there: by both engines, with native memory.
. "$(dirname "$0")/agent.inc"

late_ends=$(program late_ends)
for when in early late; do
	[ "$("$late_ends" $when)" = ok ] || fail "$when: fails by itself"
	for engine in $(engines); do
		rm -rf "$work/out"
		said=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=1k timeout 60 \
			"$late_ends" $when 2>"$work/err") || fail "$when, $engine: status $? $(cat "$work/err")"
		[ "$said$(cat "$work/err")" = ok ] || fail "$when, $engine: $said $(cat "$work/err")"
		# (Samples of the wall wait for a thread of the builtin engine, which a busy machine lets wait.)
		kind=--wall
		[ $engine = async-profiler ] || kind=--cpu
		"$agent" collapsed $kind "$work/out"/late_ends*.jfr >"$work/stacks" || fail "$when, $engine: no report"
		[ "$(samples ';take_down(;|$)' <"$work/stacks")" -ge 5 ] || fail "$when, $engine: nothing of destructors"
	done
done
echo ok
