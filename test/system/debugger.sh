#!/bin/bash
# gdb shows the current function of the agent's thread, by the line of docs/internals/debugging.md.
. "$(dirname "$0")/agent.inc"
. test/system/guide.inc
have gdb

line=$(guide_block docs/internals/debugging.md) || exit 1
line=${line/#gdb/gdb -nx -batch}
line=${line/build\/image/$B\/image}

mkdir "$work/reports"
profiled "$work/reports" builtin sh -c 'echo $$ >"$0.new" && mv "$0.new" "$0" && exec sleep 60' "$work/pid" &
until [ -e "$work/pid" ]; do
	kill -0 $! 2>/dev/null || fail "the program has ended"
	sleep 0.1
done
pid=$(cat "$work/pid")
# shellcheck disable=SC2064 # this process
trap "kill $pid 2>/dev/null; rm -rf '$work'" EXIT
# It takes a moment to reach its wait.
for _ in $(seq 100); do
	eval "${line/PID/$pid}" >"$work/said" 2>&1
	grep -q 'ptrace: Operation not permitted' "$work/said" && skip "a process cannot be attached to here"
	grep -q ' agent_run (parts=' "$work/said" && grep -q ' main (.*image/main\.c:' "$work/said" && {
		echo ok
		exit
	}
	sleep 0.1
done
fail "the agent's thread is not shown: $(cat "$work/said")"
