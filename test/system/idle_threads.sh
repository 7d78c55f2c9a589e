#!/bin/bash
# The samples of threads that use less CPU time than an interval add up to the CPU time of all of them. The first
# sample is due at a random time of the first interval, not at its end.
. "$(dirname "$0")/agent.inc"

idle_threads=$(program idle_threads) || exit 1
for engine in $(engines); do
	rm -rf "$work/out"
	profiled "$work/out" "$engine" WALL_INTERVAL=off "$idle_threads" >"$work/used" 2>"$work/err" ||
		fail "$engine: $? $(cat "$work/err")"
	count=$("$agent" collapsed --cpu "$work/out"/idle_threads_*.jfr | samples ';work')
	echo "$engine: $count samples each 100 ms, $(cat "$work/used") ms"
	# Four standard deviations; each thread has a sample with a probability of one half.
	within 40 "$(cat "$work/used")" "$((count * 100))" "$engine: samples"
done
