#!/bin/bash
# A socket that a thread closes is closed at once, also if the agent has just looked at the wait for it.
. "$(dirname "$0")/agent.inc"
closes=$(program closes)
"$closes" 1 8 >"$work/bare" || fail "without the agent: $(cat "$work/bare")"
for budget in 5% off; do
	profiled "$work/out" builtin WALL_INTERVAL=1ms CPU_INTERVAL=1ms BUDGET=$budget "$closes" "${SECONDS_EACH:-6}" 8 \
		>"$work/met" || fail "budget $budget: status $?, $(cat "$work/met")"
done
echo ok
