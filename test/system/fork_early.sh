#!/bin/bash
# A child that is forked while the agent's thread installs its handlers: the kernel copies those before it
# copies memory, and no child may die of a signal that memory says is handled.
. "$(dirname "$0")/agent.inc"

forks=$(program forks_early)
for delay in 0s 10ms 20ms 30ms; do
	for ((i = 0; i < 12; i++)); do
		profiled "$work/out" builtin START_DELAY=$delay "$forks" >"$work/said" 2>&1 ||
			fail "after $delay, run $i: status $?, $(cat "$work/said")"
	done
done
echo ok
