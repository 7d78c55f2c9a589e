#!/bin/bash
# A program can lay down its privileges step by step, which glibc takes amiss in one that has a
# thread with others.
. "$(dirname "$0")/agent.inc"

drop=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null || ! "${drop[@]}" true; then
	skip "this needs root, and setpriv"
fi
for_everybody
mkdir -m 1777 "$work/reports"
for engine in $(engines); do
	# While the agent is asleep, and while it starts.
	for delay in 1h 0; do
		for ((i = 0; i < 10; i++)); do
			out=$(profiled "$work/reports" "$engine" PROCESS=setpriv START_DELAY=$delay \
				"${drop[@]}" id -u 2>&1)
			status=$?
			[ "$status $out" = "0 65534" ] || fail "$engine, $delay: status $status, $out"
		done
	done
done
echo ok
