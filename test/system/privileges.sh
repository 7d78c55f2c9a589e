#!/bin/bash
# A program can drop its privileges step by step. glibc aborts such a program if a thread has other credentials.
. "$(dirname "$0")/agent.inc"

drop=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null || ! "${drop[@]}" true; then
	skip "this needs root, and setpriv"
fi
for_everybody
mkdir -m 1777 "$work/reports"
for engine in $(engines); do
	# While the agent sleeps, and while it starts.
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
