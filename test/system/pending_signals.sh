#!/bin/bash
# A timer for each thread counts against the pending signals of the user. Half of the limit is left for the program,
# and a line reports that some threads have no timer.
. "$(dirname "$0")/agent.inc"

# A user without other processes, so that no other timers count.
as=(setpriv --reuid=61234 --regid=61234 --clear-groups)
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null || ! "${as[@]}" true; then
	skip "this needs root, and setpriv"
fi
for_everybody
pending_signals=$(program pending_signals)
# shellcheck disable=SC2016 # that shell's argument
limited=("${as[@]}" bash -c 'ulimit -i 100 && exec "$0"' "$pending_signals")

[ "$("${limited[@]}")" = ok ] || fail "fails by itself"
for engine in $(engines); do
	mkdir -m 0777 "$work/reports"
	# async-profiler's wall clock sends signals, which are pending until the thread runs.
	wall=10ms
	[ "$engine" = builtin ] || wall=off
	out=$(profiled "$work/reports" "$engine" PROCESS=pending_signals CPU_INTERVAL=10ms EXIT_TIMEOUT=30s \
		WALL_INTERVAL=$wall "${limited[@]}" 2>"$work/err")
	status=$?
	[ "$status $out" = "0 ok" ] || fail "$engine: status $status, $out, $(cat "$work/err")"
	found=$("$agent" collapsed --cpu "$work/reports" | samples work)
	[ "$found" -gt 0 ] || fail "$engine: no sample"
	if [ "$engine" = builtin ]; then
		[ "$(grep -c 'some threads get no CPU samples.*half of the 100 ' "$work/err")" = 1 ] ||
			fail "$engine: $(cat "$work/err")"
		"$agent" summary "$work/reports" | grep -q 'threads: no timer could be set' ||
			fail "$engine: not counted"
	fi
	rm -rf "$work/reports"
done
echo ok
