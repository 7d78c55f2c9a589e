#!/bin/sh
# After a stop the handler of samples is gone, and no signal of theirs pends, not where a thread blocks it either; with the
# next start it is there again. TIMES=20 (test/long: 1000)
. "$(dirname "$0")/agent.inc"

handlers=$(program handlers) || exit 1
# Before a start that never comes. (With native memory no handler waits for it.)
masks=$(profiled "$work/none" builtin START_DELAY=1h NATIVE_MEM=1g "$handlers") || fail "no masks: $masks"
# shellcheck disable=SC2086 # two
profiled "$work/some" builtin CPU_INTERVAL=1ms WALL_INTERVAL=5ms LOCAL_MAX_BYTES=4m timeout 1200 "$handlers" \
	"${TIMES:-20}" $masks >"$work/out" 2>"$work/err"
status=$?
[ "$status $(cat "$work/out")" = "0 done" ] || fail "status $status: $(cat "$work/out" "$work/err")"
[ ! -s "$work/err" ] || fail "it complains: $(head -n 5 "$work/err")"
"$agent" collapsed "$work/some" | grep -q burn || fail "no samples"
echo "as before the start: $masks"
