#!/bin/bash
# With async-profiler for cpu and wall the builtin sampler's memory stands in the same reports;
# when what is retained grows a report goes out before its time, and the log names the holders.
. "$(dirname "$0")/mem.inc"
export ASPROF_AGENT_NATIVE_MEM=64k

# The first report, from which growth is measured, comes before the program allocates.
growth() {
	ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_NATIVE_MEM_GROWTH=10% \
		preloaded "$totals" 1 1800 >/dev/null 2>"$work/err" || fail "status $?: $(cat "$work/err")"
	grep -q 'NATIVE_MEM_GROWTH: [0-9]* bytes are retained now' "$work/err" ||
		fail "growth is not told: $(cat "$work/err")"
	grep -q 'NATIVE_MEM_GROWTH: [0-9]* bytes in [0-9]* allocations: keep_large < main < ' \
		"$work/err" || fail "the holder is not named: $(cat "$work/err")"
}

totals=$(program mem_totals) || exit 1
growth
[ -n "${ASPROF_TEST_LIB:-}" ] || {
	echo "ASPROF_TEST_LIB is not set: only the builtin engine was tried"
	exit 77
}
export ASPROF_AGENT_ENGINE=async-profiler ASPROF_AGENT_LIB=$ASPROF_TEST_LIB \
	ASPROF_AGENT_NATIVE_MEM_ENGINE=builtin ASPROF_AGENT_CPU_INTERVAL=5ms
preloaded "$totals" 2 >/dev/null 2>"$work/err" || fail "status $?: $(cat "$work/err")"
"$B/asprof-agent" summary "$work"/out/*.jfr >"$work/summary" || fail "unreadable"
for wanted in 'Engine *builtin' jdk.ExecutionSample profiler.Malloc profiler.Free \
	asprof.RetainedHeap; do
	grep -q "$wanted" "$work/summary" || fail "no $wanted: $(cat "$work/summary")"
done
