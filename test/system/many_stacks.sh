#!/bin/bash
# A report keeps 15,000 different stacks of a program, for CPU time, wall-clock time and memory. Stacks beyond the
# limit are counted.
. "$(dirname "$0")/agent.inc"

many=$(program many_stacks) || exit 1

# run DIR SETTING... -- ARGUMENT...
run() {
	dir=$work/$1 settings=()
	shift
	while [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	shift
	profiled "$dir" builtin REPORTING_INTERVAL=1h "${settings[@]}" "$many" "$@" >"$work/paths" ||
		fail "${settings[*]}: status $?"
}

# full DIR METRIC...: number of samples without a stack in DIR.
full() {
	dir=$work/$1
	shift
	"$agent" collapsed "$@" "$dir" >"$work/stacks" 2>"$work/err" || fail "$*: $(cat "$work/err")"
	samples 'stack table full' <"$work/stacks"
}

# More than fit in one chunk, on a machine that is not too busy.
run cpu CPU_INTERVAL=1ms -- 2500 300
[ "$(full cpu --cpu)" = 0 ] || fail "cpu: $(full cpu --cpu) samples without a stack"
run wall CPU_INTERVAL=off WALL_INTERVAL=1ms -- 2500 300
[ "$(full wall --wall)" = 0 ] || fail "wall: $(full wall --wall) samples without a stack"

# The same number on any machine.
run memory NATIVE_MEM=0 -- 2000 30 15000
[ "$(cat "$work/paths")" = 15000 ] || fail "memory: $(cat "$work/paths") paths"
for metric in '--alloc' '--live' '--live --retained'; do
	# shellcheck disable=SC2086 # words
	[ "$(full memory $metric)" = 0 ] || fail "memory $metric: $(full memory $metric) without a stack"
	[ "$(samples ';at_the_end;malloc|;walk$|;at_the_end$' <"$work/stacks")" -gt 0 ] || fail "memory $metric: none"
done
[ "$("$agent" summary "$work/memory" | grep -c 'stacks: too many')" = 0 ] || fail "memory: stacks are lost"
