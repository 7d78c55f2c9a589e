#!/bin/bash
# Threads whose waits continue on stacks of the attached agent, while profiling stops and starts again: each has its own stack.
. "$(dirname "$0")/agent.inc"
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"

waits=$(program waits_on_small_stacks) || exit 1
"$waits" "$work/go" >"$work/said" 2>"$work/err" &
pid=$!
for _ in {1..500}; do
	! grep -q ready "$work/said" || break
	sleep 0.02
done
"$agent" attach $pid --wall 100ms -o "$work" START_DELAY=0s >"$work/told" 2>&1 || {
	grep -q 'yama\|ptrace_scope\|CAP_SYS_PTRACE' "$work/told" && skip "$(cat "$work/told")"
	fail "attach: $(cat "$work/told")"
}
sleep 1
"$agent" stop $pid >"$work/told" 2>&1 || fail "stop: $(cat "$work/told")"
"$agent" start $pid >"$work/told" 2>&1 || fail "start: $(cat "$work/told")"
sleep 1
touch "$work/go"
wait $pid
status=$?
[ "$(tail -n 1 "$work/said")" = ok ] || fail "the program: $status $(cat "$work/said" "$work/err")"
