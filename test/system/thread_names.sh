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
echo ok
