#!/bin/bash
# A program that reads its number of threads by fopen(3) sees only its own, so CPython, from 3.12 on, does not warn about
# threads when it forks.
#
#   PYTHON=/usr/bin/python3  also by this one
. "$(dirname "$0")/agent.inc"

counts=$(program thread_count -pthread)
cat >"$work/expected" <<END
alone: 1, as it is
four: 4, as it is
child: 1, as it is
child: 1, as it is
END
python=${PYTHON:-$(type -P python3)}
cat >"$work/forks.py" <<'END'
import os, sys, time, ctypes
agent = ctypes.CDLL(None)
while hasattr(agent, "asprof_agent_running") and not agent.asprof_agent_running():
    time.sleep(0.001)
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
END
for engine in $(engines); do
	profiled "$work/reports" "$engine" "$counts" >"$work/said" 2>"$work/err" ||
		fail "$engine: status $?: $(cat "$work/err")"
	diff "$work/expected" "$work/said" || fail "$engine: not what is so"
	[ ! -s "$work/err" ] || fail "$engine: $(cat "$work/err")"
	[ -n "$python" ] || continue
	profiled "$work/reports" "$engine" "$python" "$work/forks.py" >"$work/said" 2>&1 ||
		fail "$engine: Python: status $?: $(cat "$work/said")"
	[ ! -s "$work/said" ] || fail "$engine: Python says $(cat "$work/said")"
done
