#!/bin/bash
# A program that handles the sampling signals gets them at once. If async-profiler used them, it or the other engine
# continues with other signals. (Libraries of node handle every signal that has a name.)
. "$(dirname "$0")/agent.inc"

claims=$(program claims)

# expect ENGINE LINES SIGNAL...: the program gets each of them, and the log has LINES lines.
expect() {
	local engine=$1 lines=$2 got
	shift 2
	rm -rf "$work/out"
	mkdir "$work/out"
	got=$(profiled "$work/out" "$engine" CPU_INTERVAL=5ms "$claims" "$@" 2>"$work/said") ||
		fail "$engine $*: status $?"
	[ "$got" = $# ] || fail "$engine $*: $got signals came"
	[ "$(wc -l <"$work/said")" = "$lines" ] || fail "$engine $*: $(cat "$work/said")"
	"$agent" collapsed --cpu "$work/out" >"$work/stacks" || fail "$engine $*: no profile"
}

# seen FUNCTION LEAST: in at least LEAST of about 80 samples.
seen() {
	local count
	count=$(samples "(^|;)$1(;|$)" <"$work/stacks")
	[ "$count" -ge "$2" ] || fail "$count samples of $1: $(cat "$work/stacks")"
}

expect builtin 0 16 30 40
seen before 50
seen after 50
# The JDK's sockets and its virtual machine use these, and do not check whether they are free.
jdk="62 12"
expect builtin 0 $jdk
seen after 50
_JAVA_SR_SIGNUM=63 expect builtin 0 $jdk 63
seen after 50
if [ -z "${ASPROF_TEST_LIB:-}" ]; then
	echo 'async-profiler was left out: ASPROF_TEST_LIB is not set'
	exit 0
fi
# The builtin engine's signals, kept for children, and the ones that async-profiler would choose.
expect async-profiler 0 63 16 30 29
seen before 50
seen after 50
expect async-profiler 0 $jdk
seen after 50
_JAVA_SR_SIGNUM=61 expect async-profiler 0 $jdk 61
seen after 50
expect async-profiler 1 60 61
grep -q 'the builtin engine profiles this process' "$work/said" || fail "$(cat "$work/said")"
seen before 50
seen after 50
echo ok
