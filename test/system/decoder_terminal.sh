#!/bin/sh
# Progress is shown on a terminal, after a second, and nowhere else. Needs script (package
# bsdutils), which makes a terminal.
set -u
agent=${B:-build}/asprof-agent
command -v script >/dev/null || {
	echo 'no script(1) on this machine'
	exit 77
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# A pipe that says nothing for a while stands for a recording that takes so long to read.
# read_slowly SECONDS COMMAND... : what comes out is in $tmp/out.
read_slowly() {
	seconds=$1
	shift
	mkfifo "$tmp/pipe.jfr"
	{
		sleep "$seconds"
		cat test/fixtures/jfr/native.jfr
	} >"$tmp/pipe.jfr" &
	timeout 30 "$@" >"$tmp/out" 2>&1 </dev/null
	wait $!
	rm "$tmp/pipe.jfr"
}

read_slowly 1.3 script -qec "$agent summary $tmp/pipe.jfr >/dev/null" /dev/null
grep -q 'MB read, file 1 of 1' "$tmp/out" || {
	echo "FAIL: no progress on a terminal: $(cat "$tmp/out")"
	failed=1
}
# It is wiped out again.
tail -c 4 "$tmp/out" | grep -q '\[K' || {
	echo 'FAIL: the progress stays'
	failed=1
}
read_slowly 0 script -qec "$agent summary $tmp/pipe.jfr >/dev/null" /dev/null
[ -s "$tmp/out" ] && {
	echo "FAIL: said of what is read at once: $(cat "$tmp/out")"
	failed=1
}
read_slowly 1.3 "$agent" summary "$tmp/pipe.jfr"
grep -q 'MB read' "$tmp/out" && {
	echo 'FAIL: progress where there is no terminal'
	failed=1
}
grep -q '^Span' "$tmp/out" || {
	echo "FAIL: no summary: $(cat "$tmp/out")"
	failed=1
}
[ "$failed" = 0 ] && echo 'shown on a terminal only'
exit $failed
