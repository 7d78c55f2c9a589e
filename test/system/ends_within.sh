#!/bin/bash
# A signal ends a program inside fork(3) or malloc(3), which hold locks that async-profiler needs for the last report.
# The program ends by that signal, and there is a last report.
. "$(dirname "$0")/agent.inc"

[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB is not set"
ends_within=$(program ends_within)
ulimit -c 0
export MALLOC_ARENA_MAX=1 # one lock

for it in forks allocates; do
	for signo in 15 15 15 14 3 6; do
		rm -rf "$work/out"
		profiled "$work/out" async-profiler CPU_INTERVAL=1ms FORK=off "$ends_within" $it $signo \
			>"$work/said" 2>&1
		status=$?
		[ $status -eq $((128 + signo)) ] ||
			fail "$it, $signo: status $status, says $(cat "$work/said")"
		"$agent" collapsed --cpu "$work/out"/ends_within_*.jfr >"$work/stacks" 2>&1 ||
			fail "$it, $signo: no report: $(cat "$work/said" "$work/stacks")"
		[ "$(samples ";$it(;|\$)" <"$work/stacks")" -ge 5 ] ||
			fail "$it, $signo: $(cat "$work/stacks")"
	done
done
echo ok
