#!/bin/bash
# Children with their own memory that are not made by fork(3) are profiled as separate processes, too.
. "$(dirname "$0")/agent.inc"

cloned=$(program cloned) || exit 1

for engine in $(engines); do
	rm -rf "$work/out"
	profiled "$work/out" "$engine" CPU_INTERVAL=1ms START_DELAY=20ms "$cloned" >"$work/said" \
		2>"$work/err" || fail "$engine: $? $(cat "$work/err")"
	names=$(sort "$work/said" | cut -d' ' -f1 | xargs)
	# (Not every C library has _Fork.)
	[ "${names/ by_under_fork/}" = "by_call by_call3 by_clone" ] || fail "$engine: $(cat "$work/said")"
	while read -r name pid; do
		find "$work/out" -name "*_${pid}_*.jfr" -print0 | xargs -0 -r "$agent" collapsed --cpu \
			>"$work/stacks" || fail "$engine, $name: no report: $(ls "$work/out")"
		# Of 300; on a busy machine a child's agent may start late.
		count=$(samples ";$name(;|$)" <"$work/stacks")
		[ "$count" -ge 150 ] && [ "$count" -le 330 ] || fail "$engine: $count samples of $name"
		[ "$(samples '.' <"$work/stacks")" -le $((count + 30)) ] ||
			fail "$engine, $name: $(cat "$work/stacks")"
	done <"$work/said"
done
# A child that shares its parent's memory and has no thread-local data: the agent must not need any.
no_thread=$(program no_thread -fno-stack-protector) || exit 1
if [ "$("$no_thread")" = ok ]; then
	[ "$(LD_PRELOAD=$preload ASPROF_AGENT_ENABLED=off "$no_thread")" = ok ] || fail "no thread, inert: $?"
	for engine in $(engines); do
		said=$(profiled "$work/out" "$engine" "$no_thread") || fail "no thread, $engine: status $?"
		[ "$said" = ok ] || fail "no thread, $engine: $said"
	done
fi
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
