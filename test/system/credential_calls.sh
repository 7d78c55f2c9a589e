#!/bin/bash
# A credential call that cannot reduce the rights of the process does not wait for the agent. If threads make such
# calls at the same time, the agent is suspended, and starts again after the last of them.
. "$(dirname "$0")/agent.inc"

[ "$(id -u)" -eq 0 ] || skip "this needs root"
calls=$(program credential_calls)
"$calls" >"$work/bare" || skip "no right to change credentials here"
for engine in $(engines); do
	mkdir -p "$work/reports"
	profiled "$work/reports" "$engine" "$calls" >"$work/out" 2>"$work/err" ||
		fail "$engine: $(cat "$work/out" "$work/err")"
	# A wait takes more than 40 times as long as such a call.
	paste "$work/bare" "$work/out" | awk -v engine="$engine" '
		$1 != $3 || $4 > 8 * $2 { print engine ": " $1 " takes " $4 " ns, bare " $2; bad = 1 }
		END { exit bad || NR != 5 }' || fail "a call waits"
	out=$(profiled "$work/reports" "$engine" "$calls" threads 2>"$work/err")
	[ "$out$(cat "$work/err")" = ok ] || fail "$engine: threads: $out $(cat "$work/err")"
done
echo ok
