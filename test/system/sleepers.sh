#!/bin/bash
# Ten thousand threads that sleep, on small stacks: all of them end as they do bare, and are in the profile.
. "$(dirname "$0")/agent.inc"

sleepers=$(program sleepers)
"$sleepers" 10000 0 >/dev/null || skip "so many threads are not allowed here"
for engine in $(engines); do
	rm -rf "$work/out"
	said=$(profiled "$work/out" "$engine" WALL_INTERVAL=200ms timeout 100 "$sleepers" 10000 1000 2>"$work/err") ||
		fail "$engine: status $? $(cat "$work/err")"
	[ "$said" = ok ] || fail "$engine: $said $(cat "$work/err")"
	"$agent" collapsed --wall "$work/out"/sleepers*.jfr >"$work/stacks" || fail "$engine: no report"
	[ "$(samples ';doze(;|$)' <"$work/stacks")" -ge 100 ] || fail "$engine: $(cat "$work/stacks" "$work/err")"
done
echo ok
