#!/bin/bash
# The counter that tells whether a turn of an event loop was sampled is moved by cpu and wall
# samples, and not by those of memory.
. "$(dirname "$0")/mem.inc"

# count EVENT: how many are in the reports.
count() {
	"$B/asprof-agent" summary "$work"/out/*.jfr >"$work/summary" || fail "unreadable"
	awk -v event="$1" '$NF == event { n = $1 } END { print n + 0 }' "$work/summary"
}

polls=$(program mem_polls) || exit 1
export ASPROF_AGENT_NATIVE_MEM=4k
ASPROF_AGENT_CPU_INTERVAL=off ASPROF_AGENT_WALL_INTERVAL=1m preloaded "$polls" || fail "status $?"
[ "$(count profiler.Malloc)" -ge 100 ] || fail "too few: $(cat "$work/summary")"
[ "$(count profiler.UserEvent)" = 0 ] || fail "memory moves it: $(cat "$work/summary")"
ASPROF_AGENT_CPU_INTERVAL=1ms preloaded "$polls" compute || fail "status $?"
[ "$(count profiler.UserEvent)" -gt 0 ] || fail "cpu does not move it: $(cat "$work/summary")"

# Decoders of polls, as that of async-profiler's agent for Rust, reject a recording that names another clock than the
# timestamp counter. A chunk of native memory names none.
grep -aq tsc "$work"/out/*.jfr || fail "the clock is not named"
! grep -aq monotonic "$work"/out/*.jfr || fail "another clock is named"
