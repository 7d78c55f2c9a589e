#!/bin/bash
# A program that enters a user namespace, or keeps capabilities when it changes its user, is still profiled
# afterwards, though no thread of the agent may exist meanwhile. No thread of the agent then has more rights than the
# program.
. "$(dirname "$0")/agent.inc"

makes_way=$(program makes_way)
for_everybody
ways="user mounts"
[ "$(id -u)" != 0 ] || ways="$ways root capabilities"
ran=
for how in $ways; do
	"$makes_way" "$how"
	status=$?
	[ $status != 77 ] || continue
	[ $status = 0 ] || fail "$how: status $status bare"
	for engine in $(engines); do
		# Without a delay there is a thread again at once; with one there is a timer.
		for delay in 0 50ms; do
			rm -rf "$work/reports" && mkdir -m 0777 "$work/reports"
			profiled "$work/reports" "$engine" CPU_INTERVAL=10ms START_DELAY=$delay "$makes_way" "$how" 2>"$work/err"
			status=$?
			[ "$status" = 0 ] && [ ! -s "$work/err" ] ||
				fail "$how, $engine, $delay: status $status $(cat "$work/err")"
			"$agent" collapsed --cpu "$work/reports" >"$work/stacks" || fail "$how, $engine, $delay: no report"
			for function in before behind; do
				[ "$(samples ";$function(;|\$)" <"$work/stacks")" -ge 5 ] ||
					fail "$how, $engine, $delay: nothing of $function: $(cat "$work/stacks")"
			done
		done
	done
	ran=1
done
[ -n "$ran" ] || skip "nothing of this is allowed here"
echo ok
