#!/bin/bash
# A process waits for its last report before it ends. Meanwhile it is ended again: by a signal, or by its own handler
# of a signal. It ends by that signal with a complete report, unless the report takes longer than the limit.
. "$(dirname "$0")/agent.inc"

twice=$(program ends_twice)
ASPROF_TEST_LIB=$work/ending.so
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$ASPROF_TEST_LIB" test/programs/ending_engine.c || exit 1
ulimit -c 0

export STOPPED=$work/stopped

# ends STATUS DONE WORD...: run WORD... under the preload, ended twice.
ends() {
	local wanted=$1 done=$2 status
	shift 2
	rm -f "$STOPPED"
	profiled "$work/out" async-profiler EXIT_TIMEOUT="${timeout:-30s}" CHILDREN=off "$twice" "$@" >"$work/said" 2>&1
	status=$?
	[ $status -eq "$wanted" ] && [ "$(find "$work" -name stopped | wc -l)" -eq "$done" ] ||
		fail "$*: status $status, $(ls "$work"), says $(cat "$work/said")"
}

for first in exit _exit; do
	ends 143 1 $first
	ends 4 1 $first _exit
	ends 134 1 $first abort
	ends 5 1 $first exec
	STOPS_FOR=20000 timeout=500ms ends 143 0 $first
done
echo ok
