#!/bin/bash
# A real-time program (SCHED_FIFO, SCHED_RR) is profiled by threads that are not real-time threads.
. "$(dirname "$0")/agent.inc"
have chrt python3
chrt -f 1 true 2>/dev/null || skip "may not be scheduled as real-time programs are"
python=$(python3 -c 'import sys; print(sys.executable)')

# The scheduling of each thread, when all of them exist.
cat >"$work/program.py" <<'P'
import ctypes, os, sys, time

agent = ctypes.CDLL(None)

def threads():
    for tid in os.listdir("/proc/self/task"):
        with open("/proc/self/task/" + tid + "/stat") as file:
            name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        yield name, int(rest.split()[38])

# A program that gives the processor to the agent: on a busy machine the agent starts late.
for _ in range(30000):
    if not hasattr(agent, "asprof_agent_running") or agent.asprof_agent_running():
        break
    time.sleep(0.001)
end = time.thread_time() + 0.1
while time.thread_time() < end:
    pass
for _ in range(1000):
    if "asprof-live" in dict(threads()):
        break
    time.sleep(0.01)
for name, policy in sorted(threads()):
    print(name, policy)
P
for engine in $(engines); do
	for how in "-f 1:1" "-r 2:2"; do
		# shellcheck disable=SC2086
		profiled "$work/out" "$engine" CPU_INTERVAL=5ms chrt ${how%:*} "$python" "$work/program.py" >"$work/said" ||
			fail "$engine: status $?"
		[ "$(grep -c '^asprof-' "$work/said")" -ge 2 ] || fail "$engine: not all are there: $(cat "$work/said")"
		! grep '^asprof-' "$work/said" | grep -v ' 0$' || fail "$engine: $(cat "$work/said")"
		grep -qx "python.* ${how#*:}" "$work/said" || fail "$engine: its own: $(cat "$work/said")"
		"$agent" top --cpu "$work/out" >"$work/top" && grep -q '[1-9][0-9]* samples' "$work/top" ||
			fail "$engine: no profile: $(cat "$work/top")"
		rm -r "$work/out"
	done
done
