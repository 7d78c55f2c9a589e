#!/bin/bash
# A child is forked while the agent's thread installs its signal handlers. The kernel copies the handlers before it
# copies memory. So a child must not die of a signal that is handled according to its memory.
. "$(dirname "$0")/agent.inc"

forks=$(program forks_early)
for delay in 0s 10ms 20ms 30ms; do
	for ((i = 0; i < 12; i++)); do
		profiled "$work/out" builtin START_DELAY=$delay "$forks" >"$work/said" 2>&1 ||
			fail "after $delay, run $i: status $?, $(cat "$work/said")"
	done
done
echo ok
