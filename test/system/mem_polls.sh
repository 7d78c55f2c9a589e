#!/bin/bash
# CPU and wall-clock samples increment the counter of samples in an iteration of an event loop. Samples of memory do
# not.
. "$(dirname "$0")/mem.inc"

# count EVENT: number of these events in the reports.
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

# Decoders of polls, such as the one of async-profiler's agent for Rust, reject a recording with another clock than
# the timestamp counter. A chunk of native memory does not set a clock.
grep -aq tsc "$work"/out/*.jfr || fail "the clock is not named"
! grep -aq monotonic "$work"/out/*.jfr || fail "another clock is named"
