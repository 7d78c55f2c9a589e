#!/bin/bash
# A sample needs no space on the program's stack. Coroutines and threads may have almost no stack left, and no signal
# stack of their own. They do not see that they get one, also where siglongjmp(3) checks its target.
. "$(dirname "$0")/agent.inc"

low_stacks=$(program low_stacks -D_FORTIFY_SOURCE=2)

# expect ENGINE HOW [VARIABLE=value...]
expect() {
	engine=$1 how=$2
	shift 2
	out=$(profiled "$work/reports" "$engine" "$@" "$low_stacks" "$how" 2>"$work/err")
	status=$?
	[ "$status $out$(cat "$work/err")" = "0 ok" ] ||
		fail "$engine, $how $*: status $status, $out, $(cat "$work/err")"
}

for how in coroutines threads look leave many; do
	[ "$("$low_stacks" $how)" = ok ] || fail "$how: fails by itself"
	for engine in $(engines); do
		expect "$engine" "$how" START_DELAY=100ms
		rm -rf "$work/reports"
		expect "$engine" "$how" CPU_INTERVAL=1ms WALL_INTERVAL=1ms
		case $how in
		coroutines | threads)
			found=$("$agent" collapsed --cpu "$work/reports" | samples 'turn|fill_stack')
			[ "$found" -gt 0 ] || fail "$engine, $how: no sample of it"
			;;
		esac
	done
done
echo ok
