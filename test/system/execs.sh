#!/bin/bash
# An exec is not disturbed by samples that are due, and the profile up to the exec is delivered.
. "$(dirname "$0")/agent.inc"

execs=$(program execs) || exit 1
for engine in $(engines); do
	profiled "$work/$engine" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=2ms "$execs" 16 \
		>"$work/said" 2>"$work/err"
	status=$?
	[ $status = 7 ] && [ "$(cat "$work/said")" = ok ] ||
		fail "$engine: status $status, $(cat "$work/said" "$work/err")"
	[ ! -s "$work/err" ] || fail "$engine: $(cat "$work/err")"
	# One process, and a report for each program that it ran, or two if an exec failed late.
	count=$(ls "$work/$engine" | wc -l)
	[ "$count" -ge 12 ] || fail "$engine: $count reports of 16 programs"
	# async-profiler's start takes longer than these programs live.
	[ "$engine" != builtin ] || "$agent" collapsed --cpu "$work/$engine" | grep -q ';main ' ||
		fail "$engine: no samples"
done

# The next program has no alternate signal stack, and no flag of the agent's.
exec_stack=$(program exec_stack) || exit 1
said=$(profiled "$work/stack" builtin "$exec_stack" 2>"$work/err") || fail "exec_stack: status $?: $(cat "$work/err")"
[ "$said" = "flags 2" ] || fail "the next program's signal stack: $said"
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
