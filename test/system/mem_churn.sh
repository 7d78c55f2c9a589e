#!/bin/bash
# Threads that allocate, free, resize, fork, load libraries and end at random come to no harm
# while they are sampled, seldom or always; nor under the sanitizers that run with a preload.
# SECONDS_EACH=600 is the long version.
. "$(dirname "$0")/mem.inc"
seconds=${SECONDS_EACH:-3}
export ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_LOCAL_MAX_BYTES=50m

churn=$(program mem_churn) || exit 1
for interval in 0 4k 512k off; do
	out=$(ASPROF_AGENT_NATIVE_MEM=$interval preloaded timeout -k 5 $((seconds + 60)) \
		"$churn" 64 "$seconds" 2>"$work/err") || fail "at $interval: status $?: $(cat "$work/err")"
	[ "$out" = "done" ] && [ ! -s "$work/err" ] || fail "at $interval: $out $(cat "$work/err")"
done

for sanitizer in address thread; do
	clang -std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=$sanitizer -pthread -o "$work/sanitized" \
		test/programs/mem_churn.c -ldl 2>/dev/null || continue
	# Their own allocators come first, so the agent says what it does not see.
	out=$(ASPROF_AGENT_NATIVE_MEM=4k preloaded timeout -k 5 $((seconds + 60)) \
		"$work/sanitized" 16 "$seconds" 2>"$work/err") ||
		fail "$sanitizer: status $?: $(cat "$work/err")"
	[ "$out" = "done" ] || fail "$sanitizer: $out $(cat "$work/err")"
	[ "$(grep -vc '^asprof-agent.* \(native memory: .* has a malloc of its own\|.* runs under the thread sanitizer\)' "$work/err")" = 0 ] ||
		fail "$sanitizer: $(cat "$work/err")"
done
