#!/bin/bash
# While the start delay runs there is no thread of ours in a program of one thread, which would pay for it if
# it ended soon; none but async-profiler's own where that is to be. When the delay is over the agent comes, whatever the program has done to signals meanwhile.
. "$(dirname "$0")/agent.inc"

start_delay=$(program start_delay)

# expect OUTPUT WHAT [VARIABLE=value...]: what the program prints, all on one line.
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
# From here on the signal could be somebody else's, or never come: a thread of ours waits in its place.
for what in thread handlers blocked; do
	expect 1 $what
	reported $what
done
# async-profiler's thread is there from the start, as only a thread of the program could make it; none besides.
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	engine=async-profiler
	expect "2 1" plain START_DELAY=500ms
	reported plain
fi
echo ok
