#!/bin/bash
# `leaks` and `top --live --retained` count each process in a directory with its memory at its end, for either engine.
# A forked child has the builtin engine if its parent has async-profiler. Two programs with one PID are two processes.
. "$(dirname "$0")/agent.inc"

forked=$(program forked) || exit 1
block=65536

# field FILE NAME: the first number with that name in JSON.
field() {
	sed "s/.*\"$2\":\([0-9.]*\).*/\1/;q" "$1"
}

for engine in $(engines); do
	rm -rf "$work/out"
	profiled "$work/out" "$engine" NATIVE_MEM=0 "$forked" memory >"$work/said" 2>"$work/err" ||
		fail "$engine: $? $(cat "$work/err")"
	"$agent" leaks -n 0 --json "$work/out" >"$work/leaks" || fail "$engine: no leaks"
	"$agent" top --live --retained -n 0 --json "$work/out" >"$work/top" || fail "$engine: no top"
	# 100 blocks of the parent, which waits for the end of the child, and 75 of the child.
	[ "$(field "$work/leaks" processes)" = 2 ] || fail "$engine: $(cat "$work/leaks")"
	for name in parent_keeps child_keeps; do
		blocks=100
		[ $name = parent_keeps ] || blocks=75
		"$agent" collapsed --live --retained --total "$work/out" >"$work/stacks" || fail "$engine: stacks"
		within 1 $((blocks * block)) "$(samples ";$name(;|$)" <"$work/stacks")" "$engine: top, $name"
		"$agent" leaks --include $name --json "$work/out" >"$work/one" || fail "$engine: leaks"
		within 1 $((blocks * block)) "$(sed 's/^{"bytes":\([0-9]*\).*/\1/' "$work/one")" \
			"$engine: leaks, $name"
	done
	leaks=$(sed 's/^{"bytes":\([0-9]*\).*/\1/' "$work/leaks")
	top=$(sed 's/.*"unit":"bytes","weight":\([0-9]*\).*/\1/' "$work/top")
	[ "$leaks" = "$top" ] || fail "$engine: $leaks bytes by leaks, $top by top"
	[ "$engine" = builtin ] && stated=2 || stated=1
	[ "$(field "$work/leaks" processes_from_engine)" = $stated ] || fail "$engine: $(cat "$work/leaks")"
done

# A container that starts again has the same PID.
if unshare -r -p -f true 2>"$work/err"; then
	for _ in 1 2; do
		profiled "$work/again" builtin NATIVE_MEM=0 START_DELAY=0s unshare -r -p -f --kill-child "$forked" memory \
			>"$work/said" 2>"$work/err" || fail "PID 1: $? $(cat "$work/err")"
	done
	"$agent" leaks --process '^forked_1$' --include parent_keeps --json "$work/again" >"$work/one" || fail "PID 1: leaks"
	[ "$(field "$work/one" processes)" = 2 ] || fail "PID 1: $(cat "$work/one")"
	within 1 $((200 * block)) "$(sed 's/^{"bytes":\([0-9]*\).*/\1/' "$work/one")" "PID 1"
else
	echo "no PID namespace here: $(cat "$work/err")"
fi
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
