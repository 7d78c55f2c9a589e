#!/bin/bash
# A sample does not lengthen a wait with a time limit in which the C library itself waits on after a signal, as musl does.
. "$(dirname "$0")/agent.inc"

# takes COMPILER: ten waits of 0.3 s by each function take 3 s. One of three tries must: other programs may delay some.
takes() {
	local program=$work/whole_limits.$1 signals conditions

	"$1" -D_GNU_SOURCE -I. -O2 -o "$program" test/programs/whole_limits.c -pthread || fail "$1"
	for _ in 1 2 3; do
		profiled "$work/out" builtin START_DELAY=0s WALL_INTERVAL=250ms "$program" >"$work/said" 2>"$work/err" ||
			fail "$1: status $?: $(cat "$work/err")"
		read -r signals conditions <"$work/said"
		[ "$signals" -ge 2990 ] && [ "$conditions" -ge 2990 ] ||
			fail "$1: $signals and $conditions ms instead of 3000"
		[ "$signals" -gt 3150 ] || [ "$conditions" -gt 3150 ] || return 0
	done
	fail "$1: sigtimedwait $signals ms, pthread_cond_timedwait $conditions ms instead of 3000"
}

takes gcc
! command -v musl-gcc >/dev/null || takes musl-gcc
