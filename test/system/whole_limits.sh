#!/bin/bash
# A sample does not lengthen a wait with a time limit in which the C library itself waits on after a signal, as musl does.
. "$(dirname "$0")/agent.inc"

# takes COMPILER: ten waits of 0.3 s by each function, not longer.
takes() {
	local program=$work/whole_limits.$1

	"$1" -D_GNU_SOURCE -I. -O2 -o "$program" test/programs/whole_limits.c -pthread || fail "$1"
	profiled "$work/out" builtin START_DELAY=0s WALL_INTERVAL=250ms "$program" >"$work/said" 2>"$work/err" ||
		fail "$1: status $?: $(cat "$work/err")"
	read -r signals conditions <"$work/said"
	[ "$signals" -ge 2990 ] && [ "$signals" -le 3180 ] || fail "$1: sigtimedwait: $signals ms instead of 3000"
	[ "$conditions" -ge 2990 ] && [ "$conditions" -le 3180 ] ||
		fail "$1: pthread_cond_timedwait: $conditions ms instead of 3000"
}

takes gcc
! command -v musl-gcc >/dev/null || takes musl-gcc
