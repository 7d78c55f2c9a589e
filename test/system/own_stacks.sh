#!/bin/bash
# A sample needs no room on the stack of a program that has one apart for signals: coroutines may
# be as small as they need, and the program hears of a stack that is used up. The one for signals may
# be too small for a sample.
. "$(dirname "$0")/agent.inc"

own_stacks=$(program own_stacks)

# expect STATUS HOW: what the program ends with, by itself and profiled.
expect() {
	"$own_stacks" "$2"
	[ $? = "$1" ] || fail "$2: by itself"
	for engine in $(engines); do
		rm -rf "$work/reports" && mkdir "$work/reports"
		profiled "$work/reports" "$engine" CPU_INTERVAL=1ms "$own_stacks" "$2" 2>"$work/err"
		status=$?
		[ "$status $(cat "$work/err")" = "$1 " ] ||
			fail "$2, $engine: status $status, $(cat "$work/err")"
		[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$2, $engine: no report"
	done
}

expect 0 coroutine
expect 0 small
expect 7 overflow
echo ok
