#!/bin/bash
# The number of CPU samples matches the CPU time of a program that runs only for moments. The kernel checks such
# timers at its ticks only, so one signal stands for all expirations since the last tick.
. "$(dirname "$0")/agent.inc"

moments=$(program moments) || exit 1
for engine in $(engines); do
	rm -rf "$work/out"
	profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=off "$moments" >"$work/used" 2>"$work/err" ||
		fail "$engine: $? $(cat "$work/err")"
	count=$("$agent" collapsed --cpu "$work/out"/moments_*.jfr | samples .)
	# (It uses little more CPU time while it waits for the profiler.)
	within 20 "$(cat "$work/used")" "$count" "$engine: samples"
	echo "$engine: $count samples, $(cat "$work/used") ms"
done
