#!/bin/bash
# A program that uses all of its address space (ulimit -v) has a profile with its functions. async-profiler, which
# needs much address space, is not used.
. "$(dirname "$0")/agent.inc"
eats=$(program eats_room) || exit 1

# eaten WHAT [NAME=VALUE...]: the program behaves as without the agent, and its last function is in its profile.
eaten() {
	(ulimit -v 400000 && profiled "$work/$1" "${@:2}" CPU_INTERVAL=5ms "$eats") >"$work/said" 2>"$work/err" ||
		fail "$1: status $?: $(cat "$work/err")"
	[ "$(cat "$work/said")" = eaten ] || fail "$1: it said: $(cat "$work/said")"
	"$agent" top "$work/$1" >"$work/top" 2>&1 || fail "$1: $(cat "$work/top" "$work/err")"
	grep -q '\<hungry\>' "$work/top" || fail "$1: no such function: $(cat "$work/top" "$work/err")"
}

for _ in 1 2 3; do
	eaten builtin builtin
	[ ! -s "$work/err" ] || fail "it said: $(cat "$work/err")"
	rm -r "$work/builtin"
done
[ -n "${ASPROF_TEST_LIB:-}" ] || exit 0
eaten auto auto LIB="$ASPROF_TEST_LIB"
grep -q 'leave too little memory for .*the builtin engine is used instead' "$work/err" || fail "auto: it said: $(cat "$work/err")"
