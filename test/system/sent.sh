#!/bin/bash
# A program gets a sampling signal from another process. It is ended by it, ignores, handles or reads it as without
# the agent. If it is ended, there is a last report.
. "$(dirname "$0")/agent.inc"

sent=$(program sent)

# seen COMMAND...: its output and its status, without bash's messages on a killed job.
seen() {
	{
		"$@" 2>"$work/err"
		echo "status $?"
	} 2>/dev/null
}

# as_bare ENGINE SIGNAL [early]
as_bare() {
	local bare with delay=0
	[ -z "$3" ] || delay=1h
	bare=$(seen "$sent" "${@:2}")
	rm -rf "$work/out"
	with=$(seen profiled "$work/out" "$1" START_DELAY=$delay CPU_INTERVAL=1ms "$sent" "${@:2}")
	[ "$with" = "$bare" ] || fail "$*: $with, bare $bare; $(cat "$work/err")"
	[ ! -s "$work/err" ] || fail "$*: $(cat "$work/err")"
	[ -z "$3" ] || return 0
	"$agent" collapsed "$work/out" 2>&1 | grep -q burn || fail "$*: no report of its end"
}

for engine in $(engines); do
	for signo in 29 30 16; do
		as_bare "$engine" $signo
	done
	as_bare "$engine" 30 early
done
for signo in 10 12 13 14 26 27; do
	as_bare builtin $signo
done
if [ -z "${ASPROF_TEST_LIB:-}" ]; then
	echo 'async-profiler was left out: ASPROF_TEST_LIB is not set'
	exit 0
fi
# Its own signals, and those of perf events.
as_bare async-profiler 61
