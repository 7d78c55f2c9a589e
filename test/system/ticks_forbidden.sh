#!/bin/bash
# A thread that has forbidden itself the timestamp counter, and threads that it creates later, run without faults and
# are still profiled, also if the agent starts later. async-profiler, which reads the counter, stops with a line.
. "$(dirname "$0")/agent.inc"

forbids=$(program forbids_ticks) || exit 1
bare=$("$forbids")
[ $? != 77 ] || skip "the counter cannot be forbidden here"
[ "$bare" = 0 ] || fail "bare: $bare faults"

# try LEAST ENGINE SETTING... -- [ARGUMENT]: there are at least LEAST samples.
try() {
	where="${*:2}" least=$1 engine=$2
	shift 2
	rm -rf "$work/out"
	settings=()
	while [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	shift
	got=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=10k STALLS=1ms "${settings[@]}" \
		"$forbids" "$@" 2>"$work/err") || fail "$where: status $?: $(cat "$work/err")"
	[ "$got" = 0 ] || fail "$where: $got faults"
	"$agent" collapsed --cpu "$work/out" >"$work/stacks" || fail "$where: no samples"
	count=$(samples '(^|;)burn(;|$)' <"$work/stacks")
	[ "$count" -ge "$least" ] || fail "$where: $count samples"
}

# Of 1,500 at 1 ms.
try 700 builtin --
try 700 builtin -- raw
# The agent starts after a thread has forbidden itself the counter.
try 1 builtin START_DELAY=700ms --
[ ! -s "$work/err" ] || fail "builtin: $(cat "$work/err")"
if [ -z "${ASPROF_TEST_LIB:-}" ]; then
	echo 'async-profiler was left out: ASPROF_TEST_LIB is not set'
	exit 0
fi
try 700 async-profiler --
grep -q 'the builtin engine profiles this process' "$work/err" || fail "async-profiler: no line: $(cat "$work/err")"
try 1 async-profiler START_DELAY=700ms --
# The program forbids itself the counter in the start delay, before the agent has chosen an engine.
try 1 async-profiler START_DELAY=300ms -- first
grep -q 'the builtin engine profiles this process' "$work/err" || fail "in the start delay: no line: $(cat "$work/err")"
[ "$(grep -c 'timestamp counter' "$work/err")" = 1 ] || fail "in the start delay: $(cat "$work/err")"
