#!/bin/bash
# A program that closes all files, as Chromium's sandbox does, gets nothing on its standard error, and neither do its
# children. Samples from before are in the profile.
. "$(dirname "$0")/agent.inc"

no_files=$(program no_files)
"$no_files" >/dev/null
[ $? != 77 ] || skip "no user namespace can be made here"

for engine in $(engines); do
	for start in 0 200ms; do
		rm -rf "$work/reports"
		out=$(profiled "$work/reports" "$engine" CPU_INTERVAL=1ms START_DELAY=$start \
			"$no_files" 2>"$work/err")
		status=$?
		[ "$status $out $(cat "$work/err")" = "0 done " ] ||
			fail "$engine, START_DELAY=$start: status $status, $out, $(cat "$work/err")"
		[ "$start" != 0 ] || [ -n "$(ls "$work/reports")" ] || fail "$engine: no report"
	done
done
echo ok
