#!/bin/bash
# With async-profiler for CPU and wall-clock samples, the same reports have the builtin sampler's memory.
. "$(dirname "$0")/mem.inc"
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB is not set"
export ASPROF_AGENT_NATIVE_MEM=64k

totals=$(program mem_totals) || exit 1
export ASPROF_AGENT_ENGINE=async-profiler ASPROF_AGENT_LIB=$ASPROF_TEST_LIB \
	ASPROF_AGENT_NATIVE_MEM_ENGINE=builtin ASPROF_AGENT_CPU_INTERVAL=5ms
preloaded "$totals" 2 >/dev/null 2>"$work/err" || fail "status $?: $(cat "$work/err")"
"$B/asprof-agent" summary "$work"/out/*.jfr >"$work/summary" || fail "unreadable"
for wanted in 'Engine *builtin' jdk.ExecutionSample profiler.Malloc profiler.Free \
	asprof.RetainedHeap; do
	grep -q "$wanted" "$work/summary" || fail "no $wanted: $(cat "$work/summary")"
done
