#!/bin/bash
# The first process of a pid namespace, as a container has one: SIGTERM, which the kernel keeps from it where it
# has no handler, has the last report written at that moment, and is nothing that it sees.
. "$(dirname "$0")/agent.inc"
first_process=$(program first_process)
enter=(unshare --pid --fork --mount-proc --kill-child)
"${enter[@]}" true 2>/dev/null || enter=(unshare --user --map-root-user --pid --fork --mount-proc --kill-child)
"${enter[@]}" true 2>/dev/null || skip "no pid namespaces here"

until_true() {
	for _ in $(seq 500); do
		"$@" && return 0
		sleep 0.02
	done
	return 1
}

# begin ENGINE [ARGUMENT]: start it, and wait until it is profiled; $first is its number here.
begin() {
	rm -rf "$work/out"
	env ASPROF_AGENT_ENGINE="$1" ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-libasyncProfiler.so}" \
		ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_CPU_INTERVAL=1ms \
		ASPROF_AGENT_REPORTING_INTERVAL=1h ASPROF_AGENT_EXIT_TIMEOUT=30s ASPROF_AGENT_LOG=info \
		"${enter[@]}" env LD_PRELOAD="$preload" "$first_process" "${@:2}" \
		>"$work/seen" 2>"$work/err" &
	outer=$!
	until_true grep -q 'profiling first_process' "$work/err" || fail "not profiled: $(cat "$work/err")"
	first=$(pgrep -P $outer)
}

reported() {
	[ -n "$(find "$work/out" -name 'first_process_1_*.jfr')" ]
}

for engine in $(engines); do
	begin "$engine"
	kill -TERM "$first"
	until_true reported || fail "$engine: no report at SIGTERM: $(cat "$work/err")"
	until_true grep -q interrupted "$work/seen" || fail "$engine: it did not go on: $(cat "$work/seen")"
	grep -qx 'interrupted 0, default 1, child dies 1' "$work/seen" || fail "$engine: $(cat "$work/seen")"
	kill -KILL $outer
	wait $outer 2>/dev/null

	begin "$engine" handler
	kill -TERM "$first"
	wait $outer
	[ $? -eq 3 ] || fail "$engine: with a handler: $(cat "$work/seen")"
	reported || fail "$engine: no report of one with a handler: $(cat "$work/err")"
done 2>/dev/null
