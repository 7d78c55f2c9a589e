#!/bin/bash
# The shares of CPU time agree with the thread's own clock within three standard deviations in 95 of 100 runs: of one
# process, and of four that compete for two processors.
#
#   ROUNDS=25        of four processes each, and four times as many of one
#   SECONDS_OF_CPU=4 for each process
#   INTERVALS="5ms 10ms 100ms"
. "$(dirname "$0")/../system/agent.inc"
. "$(dirname "$0")/../system/shares.inc"
rounds=${ROUNDS:-25}
seconds=${SECONDS_OF_CPU:-4}

# try ENGINE INTERVAL COUNT ROUNDS
try() {
	: >"$work/all"
	for _ in $(seq "$4"); do
		run_shares "$3" "$seconds" "$1" "$2"
		for i in $(seq "$3"); do
			deviation "$work/spent.$i" "$work/stacks.$i" >>"$work/all"
		done
	done
	awk -v name="$1, $2, $3 at once" '
		{ samples += $1; seconds += $2; good += $3 <= 3; if ($3 > worst) worst = $3 }
		END {
			printf "%-32s %d of %d runs within 3 standard deviations, worst %.2f; %d samples in %d s\n",
				name ":", good, NR, worst, samples, seconds
			exit !(good >= 0.95 * NR)
		}' "$work/all"
}

failed=0
for engine in $(engines); do
	for interval in ${INTERVALS:-5ms 10ms 100ms}; do
		try "$engine" "$interval" 1 $((rounds * 4)) || failed=1
		try "$engine" "$interval" 4 "$rounds" || failed=1
	done
done
exit $failed
