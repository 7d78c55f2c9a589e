#!/bin/bash
# A program may unmap a range of addresses and map it again later. The agent never maps memory there, whatever it
# needs memory for, also while async-profiler is loaded.
. "$(dirname "$0")/agent.inc"
holes=$(program holes) || exit 1

# free WHAT WHEN ENGINE SETTING...: no range that the program has unmapped is used, and there is a profile.
free() {
	rm -rf "$work/reports" && mkdir "$work/reports"
	# shellcheck disable=SC2086
	profiled "$work/reports" "${@:3}" "$holes" 4 3 4096 $2 >"$work/said" 2>"$work/err"
	status=$?
	[ "$status $(cat "$work/said" "$work/err")" = "0 free" ] ||
		fail "$1: status $status: $(cat "$work/said" "$work/err")"
	[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$1: no report"
}

[ "$("$holes" 1 0 4096)" = free ] || fail "by itself"
often="CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=64k STALLS=10ms"
free builtin "" builtin START_DELAY=1s
# shellcheck disable=SC2086
free "builtin, often" "" builtin $often
[ -n "${ASPROF_TEST_LIB:-}" ] || exit 0
free async-profiler "" async-profiler START_DELAY=1s
free "async-profiler, later" late async-profiler
# shellcheck disable=SC2086
free "async-profiler, often" late async-profiler $often
