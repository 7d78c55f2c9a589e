#!/bin/bash
# What sampling costs in programs whose samples are expensive, with the default budget and without one, relative to the bare
# program. "hooks" is the preload with intervals at which it takes almost no sample: its cost is in the other two as well.
set -eu
. "$(dirname "$0")/../system/agent.inc"
unset ASPROF_AGENT_BUDGET
rounds=${ROUNDS:-5}

stress=$(program budget_stress -O1 -fno-optimize-sibling-calls)
python=$(command -v python3 || true)
cat >"$work/deep.py" <<'PYTHON'
import sys, time
def descend(n):
    return descend(n - 1) if n else sum(range(20000))
for i in range(int(sys.argv[1])):
    descend(200)
print("%.3f" % time.process_time())
PYTHON

# preloaded NAME VARIABLE=value... COMMAND...: its CPU time goes to NAME, its last report to $work/out.
preloaded() {
	rm -rf "$work/out"
	profiled "$work/out" builtin REPORTING_INTERVAL=1h "${@:2}" 2>/dev/null >>"$work/$1"
}

# times NAME: the median ratio to the bare program that ran before it.
times() {
	paste "$work/$1" "$work/bare" | awk 'NF == 2 { printf "%.3f\n", $1 / $2 }' | sort -n |
		awk '{ all[NR] = $1 } END { printf "%s", all[int((NR + 1) / 2)] }'
}

# measure NAME "VARIABLE=value..." COMMAND...
measure() {
	name=$1 settings=$2
	shift 2
	: >"$work/bare"; : >"$work/hooks"; : >"$work/budget"; : >"$work/unlimited"
	for ((i = 0; i < rounds; i++)); do
		"$@" >>"$work/bare"
		preloaded hooks CPU_INTERVAL=1h WALL_INTERVAL=off "$@"
		# shellcheck disable=SC2086
		preloaded unlimited BUDGET=off $settings "$@"
		# shellcheck disable=SC2086
		preloaded budget $settings "$@"
	done
	printf '%-28s %8s %8s %8s %9s   %s\n' "$name" "$(head -n 1 "$work/bare")" "$(times hooks)" "$(times budget)" \
		"$(times unlimited)" "$("$agent" summary "$work/out" | sed -n 's/^Cost *//p')"
}

printf '%-28s %8s %8s %8s %9s   %s\n' program bare hooks budget unlimited 'measured by the agent, with the budget'
measure '1,000 frames at 1 ms' "CPU_INTERVAL=1ms" "$stress" frames 9000
measure 'one frame at 100 us' "CPU_INTERVAL=100us" "$stress" plain 9000
measure '10,000 threads, wall 100 ms' "CPU_INTERVAL=10ms WALL_INTERVAL=100ms" "$stress" threads 4000
measure 'short threads at 1 ms' "CPU_INTERVAL=1ms WALL_INTERVAL=10ms" "$stress" short 4000
measure 'allocations, 64 KiB' "CPU_INTERVAL=10ms NATIVE_MEM=64k" "$stress" allocs 6000
[ -z "$python" ] || measure 'Python, 200 frames at 1 ms' "CPU_INTERVAL=1ms" "$python" "$work/deep.py" 6000
measure 'one frame, default intervals' "CPU_INTERVAL=100ms WALL_INTERVAL=1s" "$stress" plain 9000
