#!/bin/bash
# The overhead budget leaves the default intervals of a service alone, lengthens shorter ones where samples are expensive,
# and does not change totals: CPU time by function, and bytes by allocating function.
. "$(dirname "$0")/agent.inc"
unset ASPROF_AGENT_BUDGET
budget=$(program budget -O1 -fno-optimize-sibling-calls)

# run NAME FRAMES SECONDS ALLOCATES VARIABLE=value...
run() {
	name=$1
	profiled "$work/$name" builtin "${@:5}" "$budget" "$2" "$3" "$4" >"$work/said" 2>"$work/err" ||
		fail "$name: status $?: $(cat "$work/err")"
	[ ! -s "$work/err" ] || fail "$name: $(cat "$work/err")"
	"$agent" summary --json "$work/$name" >"$work/summary" || fail "$name: no summary"
	read -r cpu small large <"$work/said"
}

# kept KIND: the share of the samples that the budget kept, in percent.
kept() {
	sed -n "s/.*\"cost\":{.*\"$1\":{[^}]*\"kept_share\":\([0-9.]*\).*/\1/p" "$work/summary" |
		awk '{ printf "%d", 100 * $1 + 0.5 }'
}

run default 20 0.6 0
[ "$(kept cpu)$(kept wall)" = 100100 ] || fail "default: kept $(kept cpu)%, $(kept wall)%"

run off 300 0.5 0 CPU_INTERVAL=100us BUDGET=off
[ "$(kept cpu)" = 100 ] || fail "off: kept $(kept cpu)%"

run cpu 300 2.5 0 CPU_INTERVAL=100us WALL_INTERVAL=off
[ "$(kept cpu)" -lt 60 ] || fail "cpu: kept $(kept cpu)%"
"$agent" collapsed --cpu --total "$work/cpu" >"$work/stacks" 2>"$work/note" || fail "cpu: no stacks"
grep -q "ASPROF_AGENT_BUDGET kept [0-9.]*% of the cpu samples" "$work/note" || fail "no note: $(cat "$work/note")"
within 8 "$(awk "BEGIN { print $cpu * 1e9 }")" "$(samples . <"$work/stacks")" "CPU time"
# A twentieth of the samples has a standard error of 4.4%, by the interval of top --cpu.
within 16 "$(awk "BEGIN { print $cpu * 0.75e9 }")" "$(samples work_long <"$work/stacks")" "CPU time of work_long"
echo "cpu: $(kept cpu)% kept"

# Its first samples have a shorter interval than the others, so shares are those of the CPU time.
"$agent" top --cpu --json "$work/cpu" >"$work/top" 2>/dev/null || fail "top: no functions"
"$agent" top --cpu --total --json "$work/cpu" 2>/dev/null | cmp - "$work/top" || fail "top counts samples"

run memory 60 2 1 CPU_INTERVAL=off WALL_INTERVAL=off NATIVE_MEM=256k
[ "$(kept memory)" -lt 60 ] || fail "memory: kept $(kept memory)%"
"$agent" collapsed --alloc --total --scaled "$work/memory" >"$work/stacks" 2>"$work/note" || fail "memory: no stacks"
grep -q "ASPROF_AGENT_BUDGET kept [0-9.]*% of the memory samples" "$work/note" || fail "no note: $(cat "$work/note")"
"$agent" leaks "$work/memory" >"$work/leaks" 2>"$work/note"
grep -q "ASPROF_AGENT_BUDGET kept [0-9.]*% of the memory samples" "$work/note" || fail "leaks: $(cat "$work/note")"
within 20 "$small" "$(samples allocate_small <"$work/stacks")" "bytes of allocate_small"
within 20 "$large" "$(samples allocate_large <"$work/stacks")" "bytes of allocate_large"
echo "memory: $(kept memory)% kept"

# The estimate of 10 times the interval is a tenth of the measured share.
"$agent" cost "$work/cpu" --cpu 10ms --json >"$work/cost" || fail "no cost"
awk -F'[:,{}]' '{ for (i = 1; i <= NF; i++) { if ($i == "\"cpu\"") in_cpu = 1
		if (in_cpu && $i == "\"cpu_ns\"" && !ns) ns = $(i + 1)
		if (in_cpu && $i == "\"samples\"" && !samples) samples = $(i + 1)
		if ($i == "\"estimate\"") estimate = $(i + 1) }
	wanted = ns / samples / 1e7; exit !(wanted > 0 && estimate / wanted > 0.99 && estimate / wanted < 1.01) }' "$work/cost" ||
	fail "cost: $(cat "$work/cost")"
"$agent" cost "$work/cpu" | grep -q '% of the program.s CPU time' || fail "cost prints no sum"

# run says it too.
"$agent" run -o "$work/run" --cpu 100us -- "$budget" 300 1.5 0 >/dev/null 2>"$work/err" || fail "run: $(cat "$work/err")"
grep -q '^cpu: .*% of the samples kept by the budget$' "$work/err" || fail "run: $(cat "$work/err")"
