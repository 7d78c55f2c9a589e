#!/bin/bash
# A Java server opens its first socket seconds after its start. The same engine profiles it to its end: no engine uses
# the signal that the JDK's sockets take when they are loaded.
. "$(dirname "$0")/agent.inc"
have java javac
javac -d "$work" test/programs/LateServer.java || fail "javac"

# try ENGINE: 400 samples at 5 ms are due in each half.
try() {
	rm -rf "$work/out"
	profiled "$work/out" "$1" CPU_INTERVAL=5ms PROCESS=java java -cp "$work" LateServer \
		>"$work/said" 2>"$work/err" || fail "$1: status $?: $(cat "$work/said" "$work/err")"
	[ "$(cat "$work/said")" = "done" ] || fail "$1: $(cat "$work/said")"
	[ ! -s "$work/err" ] || fail "$1: $(cat "$work/err")"
	"$agent" collapsed --cpu "$work/out" >"$work/stacks" || fail "$1: no samples"
}

# seen PATTERN LEAST
seen() {
	count=$(samples "$1" <"$work/stacks")
	[ "$count" -ge "$2" ] || fail "$count samples of $1: $(cut -c1-300 "$work/stacks" | head -n 20)"
}

try builtin
seen . 700
if [ -z "${ASPROF_TEST_LIB:-}" ]; then
	echo 'async-profiler was left out: ASPROF_TEST_LIB is not set'
	exit 0
fi
try async-profiler
seen 'LateServer\.beforeListening' 250
seen 'LateServer\.answer' 250
