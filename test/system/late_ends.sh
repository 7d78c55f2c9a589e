#!/bin/bash
# Destructors of thread-local data run in several rounds. They are sampled in the first round, and in the second one
# unless their key is newer than the agent's. Tested with both engines, both C libraries, and native memory. Timers
# end with their threads. async-profiler's log has no events of their starts and ends.
. "$(dirname "$0")/agent.inc"

late_ends=$(program late_ends)
programs=$late_ends
if command -v musl-gcc >/dev/null; then
	musl-gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -pthread -o "$work/late_ends_musl" test/programs/late_ends.c || exit 1
	programs="$programs $work/late_ends_musl"
else
	echo "musl was left out: there is no musl-gcc"
fi
for late_ends in $programs; do
	for when in early late behind; do
		[ "$("$late_ends" $when)" = ok ] || fail "$late_ends $when: fails by itself"
		for engine in $(engines); do
			what="$late_ends $when, $engine"
			rm -rf "$work/out"
			said=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=1k timeout 60 \
				"$late_ends" $when 2>"$work/err") || fail "$what: status $? $said $(cat "$work/err")"
			[ "$said$(cat "$work/err")" = ok ] || fail "$what: $said $(cat "$work/err")"
			# (Wall samples need a thread of the builtin engine, which may wait on a busy machine.)
			kind=--cpu functions="round_1 round_2"
			[ $when != behind ] || functions=round_1
			[ $engine = builtin ] || kind=--wall functions=take_down
			# (The thread would wait twice for the thread that writes them.)
			! grep -q 'thread_start: 0x\|thread_end: 0x' "$work/out"/late_ends*.jfr ||
				fail "$what: events of starts or ends"
			"$agent" collapsed $kind "$work/out"/late_ends*.jfr >"$work/stacks" || fail "$what: no report"
			for function in $functions; do
				[ "$(samples "(^|;)$function(;|\$)" <"$work/stacks")" -ge 5 ] ||
					fail "$what: nothing of $function: $(cat "$work/stacks")"
			done
		done
	done
done
echo ok
