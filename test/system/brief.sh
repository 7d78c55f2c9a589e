#!/bin/sh
# The CPU time of threads that live shorter than a tick of the kernel's CPU timers counts, and for the right
# functions.
#
# BRIEF_SECONDS is the CPU time of each kind of thread.
. "$(dirname "$0")/agent.inc"

seconds=${BRIEF_SECONDS:-0.8}
brief=$(program brief) || exit 1

for life in 200 2000; do
	out=$work/$life
	profiled "$out" builtin CPU_INTERVAL=5ms WALL_INTERVAL=off "$brief" "$life" "$seconds" \
		>"$work/cpu" 2>"$work/err" || fail "$life us: status $?: $(cat "$work/err")"
	"$agent" collapsed --cpu "$out" >"$work/cpu.txt" || fail "$life us: no CPU samples"
	all=$(samples ';live' <"$work/cpu.txt")
	inside=$(samples ';live;burn' <"$work/cpu.txt")
	echo "$life us: $(cat "$work/cpu") s of CPU, $all samples, $inside in the function that uses it"
	# The end of a thread, some 10 us after it last read its clock, counts too.
	within $((5 + 1000 / life)) "$(awk '{ print $1 * 200 }' "$work/cpu")" "$all" "samples of threads of $life us"
	[ $((inside * 2)) -gt "$all" ] || fail "$life us: only $inside of $all stacks say where"
done
