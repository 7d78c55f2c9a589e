#!/bin/sh
# Progress is shown on a terminal, after a second, and nowhere else. A flame graph is not written to a terminal. A mistyped
# command gets a suggestion. Needs script (package bsdutils), which makes a terminal.
. "$(dirname "$0")/agent.inc"
have script

# A pipe that says nothing for a while stands for a recording that takes so long to read.
# read_slowly SECONDS COMMAND... : what comes out is in $work/out.
read_slowly() {
	seconds=$1
	shift
	mkfifo "$work/pipe.jfr"
	{
		sleep "$seconds"
		cat test/fixtures/jfr/native.jfr
	} >"$work/pipe.jfr" &
	timeout 30 "$@" >"$work/out" 2>&1 </dev/null
	wait $!
	rm "$work/pipe.jfr"
}

read_slowly 1.3 script -qec "$agent summary $work/pipe.jfr >/dev/null" /dev/null
grep -q 'MB read, file 1 of 1' "$work/out" || fail "no progress on a terminal: $(cat "$work/out")"
# It is wiped out again.
tail -c 4 "$work/out" | grep -q '\[K' || fail 'the progress stays'
timeout 30 script -qec "$agent summary test/fixtures/jfr/native.jfr >/dev/null" /dev/null \
	>"$work/out" 2>&1 </dev/null
[ -s "$work/out" ] && fail "said of what is read at once: $(cat "$work/out")"
read_slowly 1.3 "$agent" summary "$work/pipe.jfr"
grep -q 'MB read' "$work/out" && fail 'progress where there is no terminal'
grep -q '^Span' "$work/out" || fail "no summary: $(cat "$work/out")"

timeout 30 script -qec "$agent flamegraph test/fixtures/jfr/native.jfr" /dev/null >"$work/out" 2>&1 </dev/null
[ $? = 2 ] && grep -q 'is a terminal.*-o flame.html' "$work/out" && ! grep -q '<html' "$work/out" ||
	fail "a flame graph on a terminal: $(head -c 300 "$work/out")"
"$agent" flamegraph test/fixtures/jfr/native.jfr | grep -q '<html' || fail 'no flame graph in a pipe'

"$agent" tpo >"$work/out" 2>&1
[ $? = 2 ] && [ "$(cat "$work/out")" = "asprof-agent: no command 'tpo'; did you mean \`top\`?" ] ||
	fail "no suggestion: $(cat "$work/out")"
"$agent" xyzzy 2>&1 | grep -q '^  top ' || fail 'no list of commands'
echo 'ok'
