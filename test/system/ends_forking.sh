#!/bin/bash
# A signal that ends a program in the midst of fork(3), which holds locks that async-profiler wants for the last report:
# it ends by that signal, and there is a last report.
. "$(dirname "$0")/agent.inc"

[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB is not set"
forks_on=$(program forks_on)
ulimit -c 0

for signo in 15 15 15 14 3 6; do
	rm -rf "$work/out"
	profiled "$work/out" async-profiler CPU_INTERVAL=1ms FORK=off "$forks_on" $signo >"$work/said" 2>&1
	status=$?
	[ $status -eq $((128 + signo)) ] || fail "$signo: status $status, says $(cat "$work/said")"
	"$agent" collapsed --cpu "$work/out"/forks_on_*.jfr >"$work/stacks" 2>&1 ||
		fail "$signo: no report: $(cat "$work/said" "$work/stacks")"
	[ "$(samples ';forks(;|$)' <"$work/stacks")" -ge 5 ] || fail "$signo: $(cat "$work/stacks")"
done
echo ok
