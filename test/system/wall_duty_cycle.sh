#!/bin/bash
# Wall-clock samples find a thread that computes for milliseconds between its sleeps, in proportion to that time: for
# many threads, and for one thread that is sampled so often that the handler's budget delays samples.
. "$(dirname "$0")/agent.inc"
duty_cycle=$(program duty_cycle)

# check NAME CPU_INTERVAL WALL_INTERVAL LEAST_SAMPLES ARGUMENT...
check() {
	name=$1 least=$4
	profiled "$work/$name" builtin CPU_INTERVAL="$2" WALL_INTERVAL="$3" REPORTING_INTERVAL=2s "$duty_cycle" "${@:5}" \
		>"$work/share" || fail "$name: status $?"
	"$agent" collapsed --wall --thread duty_cycle "$work/$name" | grep ';cycle;' >"$work/stacks"
	awk -v name="$name" -v least="$least" -v share="$(cat "$work/share")" '
		{ all += $NF }
		/;compute/ { busy += $NF }
		END {
			printf "%s: %d samples, %.4f in compute(); by its own clock %.4f\n", name, all, busy / all, share
			exit !(all > least && busy / all > share * 0.45 && busy / all < share * 1.5)
		}' "$work/stacks" || fail "$name: the shares are wrong"
}
check many 100ms 20ms 1000 2 60 6 10
check often 1ms 2ms 1000 6 8 5 1
echo ok
