#!/bin/bash
# The reports of a program and of its forked child have their allocations before the end of the start delay, with the
# right bytes.
. "$(dirname "$0")/mem.inc"

early=$(program mem_early) || exit 1
export ASPROF_AGENT_START_DELAY=2s
export ASPROF_AGENT_NATIVE_MEM=128k
preloaded "$early" 2>"$work/err" || fail "status $?: $(cat "$work/err")"
[ ! -s "$work/err" ] || fail "$(cat "$work/err")"

# bytes FUNCTION OPTION...: bytes of the stacks in which main calls FUNCTION.
bytes() {
	local function=$1
	shift
	"$agent" collapsed --scaled --total "$@" "$work/out" | samples "(^|;)main;$function(;|$)"
}

# 400 samples each.
for function in keep_early free_late keep_in_child; do
	within 30 $((50 << 20)) "$(bytes $function --alloc)" "$function, allocated"
done
for function in keep_early grow_early keep_in_child; do
	within 30 $((50 << 20)) "$(bytes $function --live)" "$function, live"
done
[ "$(bytes free_late --live)" = 0 ] || fail "free_late: $(bytes free_late --live) bytes are live"
