#!/bin/bash
# Calls that wait for moments, in programs without interposers: a sample ends none of them, also where the number of the call
# is in a register, as in musl and in glibc 2.41, and where the agent has not seen the call before.
. "$(dirname "$0")/agent.inc"
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"

# waits COMPILER FLAG...
waits() {
	CC=$1 program brief_waits "${@:2}" >"$work/err" 2>&1 || return 0
	"$work/brief_waits" >"$work/out" &
	pid=$!
	for _ in {1..500}; do
		! grep -q ready "$work/out" || break
		sleep 0.02
	done
	"$agent" attach $pid --wall 1ms >"$work/err" 2>&1 || {
		grep -q 'yama\|ptrace_scope\|CAP_SYS_PTRACE' "$work/err" && skip "$(cat "$work/err")"
		fail "attach: $(cat "$work/err")"
	}
	wait $pid
	[ "$(tail -n 1 "$work/out")" = ok ] || fail "$*: $(sort "$work/out" | uniq -c)"
}

waits "${CC:-cc}"
waits "${CC:-cc}" -O0 -fno-omit-frame-pointer
waits "${CC:-cc}" -static
! command -v musl-gcc >/dev/null || waits musl-gcc
! command -v musl-gcc >/dev/null || waits musl-gcc -static -Os
