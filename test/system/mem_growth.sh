#!/bin/bash
# When retained memory has grown by the set share, a report is sent early, and the log names the five largest stacks,
# the heaviest first.
. "$(dirname "$0")/mem.inc"
export ASPROF_AGENT_NATIVE_MEM=1k # and no report is due for an hour

# The threshold is passed when the last function has 18 of its 30 MiB; growth is relative to the first report.
growth=$(program mem_growth) || exit 1
ASPROF_AGENT_NATIVE_MEM_GROWTH=300% preloaded "$growth" "$work/out" 2>"$work/err" ||
	fail "status $?: $(cat "$work/err")"
grep -q 'NATIVE_MEM_GROWTH: [0-9]* bytes are retained now, in [0-9]* allocations; most by:$' \
	"$work/err" || fail "growth is not told: $(cat "$work/err")"
named=$(sed -n 's/.*NATIVE_MEM_GROWTH: [0-9]* bytes in [0-9]* allocations: \(keep_[a-z]*\) < main < .*/\1/p' \
	"$work/err" | xargs)
[ "$named" = "keep_first keep_before keep_second keep_third keep_fourth" ] ||
	fail "the holders are '$named': $(cat "$work/err")"

# By their times, it is the second report, without the last one at the end.
early=$(find "$work/out" -name '*.jfr' -printf '%T@ %p\n' | sort -n | sed -n '2s/^[^ ]* //p')
"$B/asprof-agent" top --live "$early" | grep -q keep_second || fail "the report lacks the holders"
