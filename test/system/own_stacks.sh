#!/bin/bash
# In a program with a signal stack, a sample needs no space on the other stacks. Coroutines may have the smallest
# stacks that work, and the program gets the signal for a stack overflow. Its signal stack may be too small for a
# sample, unmapped, or shared by threads. A handler of .NET leaves that stack, and needs it later.
. "$(dirname "$0")/agent.inc"

own_stacks=$(program own_stacks)

# expect STATUS HOW: the program's status, without the agent and profiled.
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
expect 0 unmapped
expect 0 shared
expect 0 left
expect 7 overflow
echo ok
