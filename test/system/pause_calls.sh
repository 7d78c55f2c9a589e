#!/bin/bash
# Pauses of the profiler and changes of its intervals do not end the program's calls with EINTR: the kernel drops the
# pending signals of deleted timers after they have interrupted a call.
. "$(dirname "$0")/agent.inc"
closes=$(program closes)
# shellcheck disable=SC2016 # expanded by the inner shell
profiled "$work/out" builtin WALL_INTERVAL=1ms CPU_INTERVAL=10ms BUDGET=off \
	sh -c 'echo $$ >"$0.new" && mv "$0.new" "$0" && exec "$@"' "$work/pid" "$closes" "${SECONDS_EACH:-10}" 8 >"$work/met" &
job=$!
until [ -e "$work/pid" ]; do
	kill -0 "$job" 2>/dev/null || fail "the program has ended"
	sleep 0.1
done
pid=$(cat "$work/pid")
pauses=0
while kill -0 "$pid" 2>/dev/null; do
	"$B/asprof-agent" stop "$pid" >"$work/answer" 2>&1 && pauses=$((pauses + 1))
	sleep 0.05
	"$B/asprof-agent" start "$pid" >"$work/answer" 2>&1
	sleep 0.05
done
wait "$job" || fail "status $? after $pauses pauses: $(cat "$work/met")"
[ "$pauses" -ge 2 ] || fail "$pauses pauses: $(cat "$work/answer")"
# (Many threads: the kernel must find one that waits for a processor with a signal.)
for engine in $(engines); do
	changed=$(profiled "$work/out" "$engine" WALL_INTERVAL=off CPU_INTERVAL=1ms BUDGET=off "$closes" "${SECONDS_EACH:-10}" 48 changes) ||
		fail "$engine: status $? $changed"
	[ "${changed% *}" -ge 2 ] || fail "$engine: $changed"
done
echo ok
