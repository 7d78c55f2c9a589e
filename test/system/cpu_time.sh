#!/bin/bash
# Samples of CPU time are as many as the time that was used tells, in a program that runs for a moment at a time: the
# kernel looks at such timers with its ticks alone, and then one signal stands for all of their turns since.
. "$(dirname "$0")/agent.inc"

moments=$(program moments) || exit 1
for engine in $(engines); do
	rm -rf "$work/out"
	profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=off "$moments" >"$work/used" 2>"$work/err" ||
		fail "$engine: $? $(cat "$work/err")"
	count=$("$agent" collapsed --cpu "$work/out"/moments_*.jfr | samples .)
	# (What it uses besides, as it waits to be profiled, is little.)
	within 20 "$(cat "$work/used")" "$count" "$engine: samples"
	echo "$engine: $count samples, $(cat "$work/used") ms"
done
