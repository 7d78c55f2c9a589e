#!/bin/bash
# During the start delay, a program with one thread has no thread of the agent, which would cost a short program time;
# only async-profiler's own, if that is used. After the delay the agent starts, whatever the program has done to
# signals.
. "$(dirname "$0")/agent.inc"

start_delay=$(program start_delay)

# expect OUTPUT WHAT [VARIABLE=value...]: the program's output, all on one line.
expect() {
	local wanted=$1 what=$2 got status
	shift 2
	rm -rf "${work:?}/$what" && mkdir "$work/$what"
	got=$(profiled "$work/$what" "$engine" START_DELAY=200ms "$@" "$start_delay" "$what" 2>"$work/said")
	status=$?
	[ $status = 3 ] || fail "$what: status $status"
	[ "$(echo $got)" = "$wanted" ] || fail "$what: $(echo $got), and not $wanted"
	[ ! -s "$work/said" ] || fail "$what: $(cat "$work/said")"
}

reported() {
	[ -n "$(ls "$work/$1")" ] || fail "$1: no report"
}

engine=builtin
expect "1 1" plain START_DELAY=500ms
reported plain
# From here on the signal may be the program's, or may never come. A thread of the agent waits instead.
for what in thread handlers blocked; do
	expect 1 $what
	reported $what
done
# The program takes all signals when the agent's thread exists, but does not sample yet. (On a busy machine it may sample
# already; then profiling ends.)
for try in {1..5}; do
	rm -rf "$work/starting"
	got=$(profiled "$work/starting" builtin START_DELAY=20ms "$start_delay" starting 2>"$work/said")
	status=$?
	[ $status = 3 ] || fail "starting: status $status"
	! { [ "$got" = 1 ] && [ ! -s "$work/said" ] && reported starting; } || break
	[ "$try" != 5 ] || fail "starting: $got $(cat "$work/said")"
done
# async-profiler's thread exists from the start, because only a thread of the program can create it; there are no
# other ones.
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	engine=async-profiler
	expect "2 1" plain START_DELAY=500ms
	reported plain
fi
echo ok
