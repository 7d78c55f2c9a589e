#!/bin/bash
# Threads that end before the report have their names in it.
. "$(dirname "$0")/agent.inc"

named_threads=$(program named_threads)
for engine in $(engines); do
	rm -rf "$work/reports"
	profiled "$work/reports" "$engine" CPU_INTERVAL=1ms REPORTING_INTERVAL=1h \
		timeout 60 "$named_threads" || fail "$engine: status $?"
	summary=$("$agent" summary "$work/reports")
	# On a busy machine a thread may end before its name is read. Without the requests, only one thread has a
	# name.
	[ "$(grep -c '\[named-[0-9]' <<<"$summary")" -ge 4 ] || fail "$engine: $summary"
done

# The budget's changes of intervals end chunks soon after a report, and threads that sleep all the time have no sample.
ASPROF_AGENT_BUDGET=1% profiled "$work/asleep" builtin CPU_INTERVAL=100us WALL_INTERVAL=5ms REPORTING_INTERVAL=2s \
	timeout 60 "$(program sleepers)" 3 10000 computes >"$work/out" || fail "sleepers: status $?"
"$agent" summary "$work/asleep" >"$work/summary"
[ "$(grep -c ' \[sleepers tid=' "$work/summary")" = 4 ] || fail "$(cat "$work/summary")"
grep -q ' \[tid=' "$work/summary" && fail "$(cat "$work/summary")"
echo ok
