#!/bin/bash
# An allocation of NATIVE_MEM_LIMIT or more fails with ENOMEM, and its stack is logged and recorded. All other
# allocations succeed, with and without sampling.
. "$(dirname "$0")/mem.inc"

limits=$(program mem_limits) || exit 1
"$limits" 0 >/dev/null || fail "fails without a limit"
for interval in off 1m 0; do
	ASPROF_AGENT_NATIVE_MEM=$interval ASPROF_AGENT_NATIVE_MEM_LIMIT=10m \
		preloaded "$limits" 1 >"$work/said" 2>"$work/err" ||
		fail "at $interval: $(cat "$work/said" "$work/err")"
	[ "$(grep -c 'NATIVE_MEM_LIMIT: refused 104857[67]0 bytes to mem_limits+0x' "$work/err")" = 9 ] ||
		fail "at $interval: $(cat "$work/err")"
done
"$B/asprof-agent" nativemem "$work"/out/*.jfr >"$work/events" || fail "unreadable recording"
grep -q 'main' "$work/events" || fail "not recorded: $(head "$work/events")"
