#!/bin/bash
# A program may stop and start the agent, with each engine, and there is no message.
. "$(dirname "$0")/agent.inc"

restarts=$(program restarts)
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/fake.so" test/programs/fake_engine.c ||
	exit 1

# restarted NAME ENGINE [VARIABLE=value...]: it makes at least REPORTS reports.
restarted() {
	local name=$1 engine=$2 count
	shift 2
	profiled "$work/$name" "$engine" CPU_INTERVAL=1ms "$@" timeout 60 "$restarts" \
		>"$work/said" 2>&1
	[ $? = 3 ] && [ ! -s "$work/said" ] || fail "$name: $(cat "$work/said")"
	count=$(ls "$work/$name" 2>/dev/null | wc -l)
	[ "$count" -ge "$reports" ] || fail "$name: $count reports"
}

reports=3
for engine in $(engines); do
	restarted $engine $engine
	restarted $engine-fork $engine FORK=off
	restarted $engine-mem $engine NATIVE_MEM=64k NATIVE_MEM_ENGINE=builtin
done
profiled "$work/delayed" builtin START_DELAY=200ms timeout 60 "$restarts" delayed >"$work/said" 2>&1
[ $? = 3 ] || fail "stopped during the start delay, a child has an agent: $(cat "$work/said")"
reports=0 # it never writes any
restarted fake async-profiler LIB="$work/fake.so"
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
