#!/bin/bash
# Calls that a profiler's signal interrupts continue with the remaining time. Calls that a handler of the program
# interrupts end, even if samples come before, or while the handler returns, or if a profiler restarts the call. A signal
# that only a wait's mask blocks does not end it.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
waits=$(program waits)

out=$("$waits") || fail "without the preload: $out"
out=$(LD_PRELOAD=$work/interpose_sampler.so "$waits" 2>"$work/err") || fail "status $?: $out"
[ "$out" = ok ] || fail "output: $out"

# Without samples, the test would show nothing.
samples=$(sed -n 's/^exit: \([0-9]*\) samples, .*, 0 claimed$/\1/p' "$work/err")
[ "${samples:-0}" -gt 100 ] || fail "$(cat "$work/err")"

masked_waits=$(program masked_waits)
out=$("$masked_waits") || fail "masked waits without the preload: $out"
out=$(LD_PRELOAD=$work/interpose_sampler.so "$masked_waits" 2>"$work/err") ||
	fail "masked waits: status $?: $out $(cat "$work/err")"

for back in '' 1; do
	for how in '2000 0 followed 37 38' '5000 14 sent' '5000 6 sent'; do
		read -r us follow arguments <<<"$how"
		out=$(
			[ -z "$back" ] || export SAMPLER_SETS_BACK=1
			[ "$follow" = 0 ] || export SAMPLER_FOLLOWED=$follow
			# shellcheck disable=SC2086 # words
			SAMPLER_US=$us LD_PRELOAD=$work/interpose_sampler.so "$waits" $arguments 2>"$work/err"
		) || fail "$how${back:+, set back}: status $?: $out $(cat "$work/err")"
		[ "$out" = ok ] || fail "$how${back:+, set back}: $out"
	done
done
