#!/bin/bash
# Ten thousand sleeping threads on small stacks, or three quarters of what this machine allows at the moment: all of
# them end as without the agent, and are in the profile.
. "$(dirname "$0")/agent.inc"

sleepers=$(program sleepers)
most=$("$sleepers" 10000 0) || fail "bare: status $?"
wanted=10000
[ "$most" -eq 10000 ] || wanted=$((most * 3 / 4))
[ "$wanted" -ge 100 ] || skip "no more than $most threads are allowed here"
for engine in $(engines); do
	rm -rf "$work/out"
	had=$(profiled "$work/out" "$engine" WALL_INTERVAL=200ms timeout 100 "$sleepers" "$wanted" 1000 2>"$work/err") ||
		fail "$engine: status $? $(cat "$work/err")"
	# (Other programs may have taken the rest.)
	[ "$had" -ge 100 ] || fail "$engine: $had threads: $(cat "$work/err")"
	"$agent" collapsed --wall "$work/out"/sleepers*.jfr >"$work/stacks" || fail "$engine: no report: $(cat "$work/err")"
	[ "$(samples ';doze(;|$)' <"$work/stacks")" -ge 100 ] || fail "$engine: $(cat "$work/stacks" "$work/err")"
	[ "$had" -eq 10000 ] || echo "$engine: $had threads, as 10000 are not allowed here"
done
echo ok
