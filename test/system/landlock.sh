#!/bin/bash
# A program gives up rights by Landlock, which applies to the calling thread only. No thread of the agent keeps the
# rights: the agent ends before the call, with a last report and a line. If the call fails, it continues.
. "$(dirname "$0")/agent.inc"

# (Names that are in memory, because files may not be readable there.)
confines=$(program confines -rdynamic)
mkdir "$work/reports"
"$confines" some "$work/reports" >"$work/out"
status=$?
[ $status != 77 ] || skip "there is no Landlock here"
[ $status = 4 ] || fail "fails by itself: status $status $(cat "$work/out")"

# ends ENGINE HOW [VARIABLE=value...]: ends as without the agent; its stacks are in $work/stacks, its messages in
# $work/err.
ends() {
	local engine=$1 how=$2 status
	shift 2
	rm -rf "$work/reports" && mkdir "$work/reports"
	profiled "$work/reports" "$engine" CPU_INTERVAL=10ms "$@" "$confines" "$how" "$work/reports" \
		>"$work/out" 2>"$work/err"
	status=$?
	what="$engine, $how, $*"
	[ $status != 3 ] || fail "$what: a thread is not in the domain"
	[ "$status$(cat "$work/out")" = 4 ] || fail "$what: status $status $(cat "$work/out" "$work/err")"
	"$agent" collapsed --cpu "$work/reports" >"$work/stacks" 2>"$work/none" || fail "$what: no report $(cat "$work/err" "$work/none")"
	before=$(samples ';before(;|$)' <"$work/stacks") inside=$(samples ';inside(;|$)' <"$work/stacks")
	[ "$before" -ge 10 ] || fail "$what: $before samples of before: $(cat "$work/err" "$work/stacks")"
}

goes_on() {
	ends "$@"
	[ "$inside" -ge 10 ] || fail "$what: $inside samples inside: $(cat "$work/err" "$work/stacks")"
	[ ! -s "$work/err" ] || fail "$what: $(cat "$work/err")"
}

# says LINE ENGINE HOW [VARIABLE=value...]: the same, and the log has LINE.
says() {
	local line=$1
	shift
	ends "$@"
	[ "$inside" -eq 0 ] || fail "$what: $inside samples inside"
	[ "$(grep -c "$line" "$work/err")" = 1 ] || fail "$what: $(cat "$work/err")"
}

ways="some nothing closed thread threads"
"$confines" all "$work/reports"
if [ $? = 4 ]; then
	ways="$ways all"
else
	echo "Linux $(uname -r) has no domains for all threads at once: that was left out"
fi
for engine in $(engines); do
	for how in $ways; do
		says 'has entered a Landlock domain; profiling is off' "$engine" "$how" LOG=info FORK=off
	done
	ends "$engine" child START_DELAY=20ms
	[ "$inside" = 0 ] && [ ! -s "$work/err" ] || fail "$what: $inside samples inside: $(cat "$work/err")"
	goes_on "$engine" fails FORK=off
done
echo ok
