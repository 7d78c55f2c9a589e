#!/bin/bash
# After a stop, the profiler has no signal handler, and none of its signals is pending, even if a thread blocks it.
# After the next start all handlers are installed again. TIMES=20 (test/long: 1000)
. "$(dirname "$0")/agent.inc"

handlers=$(program handlers) || exit 1
# Without a later start. (With a limit of native memory, the handlers are installed at once.)
masks=$(profiled "$work/none" builtin START_DELAY=1h NATIVE_MEM_LIMIT=1g "$handlers") || fail "no masks: $masks"
for engine in $(engines); do
	signo=63
	[ "$engine" = builtin ] || signo=61
	# shellcheck disable=SC2086 # two
	profiled "$work/$engine" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=5ms LOCAL_MAX_BYTES=4m timeout 1200 "$handlers" \
		"${TIMES:-20}" $masks $signo >"$work/out" 2>"$work/err"
	status=$?
	[ "$status $(cat "$work/out")" = "0 done" ] || fail "$engine: status $status: $(cat "$work/out" "$work/err")"
	[ ! -s "$work/err" ] || fail "$engine: it complains: $(head -n 5 "$work/err")"
	"$agent" collapsed "$work/$engine" | grep -q burn || fail "$engine: no samples"
done
echo "as before the start: $masks"
