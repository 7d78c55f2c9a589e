#!/bin/bash
# The shares of functions are shares of time if recordings have different sampling intervals. summary shows the losses and the
# costs of a chunk for each part of the chunk.
. "$(dirname "$0")/agent.inc"

# record NAME INTERVAL: a second of CPU time in function NAME.
record() {
	cat >"$work/$1.c" <<-END
		#include <time.h>
		__attribute__((noinline)) static void $1(void)
		{
			while (clock() < CLOCKS_PER_SEC)
				for (volatile int i = 0; i < 100000; i++)
					;
		}
		int main(void)
		{
			$1();
			return 0;
		}
	END
	"${CC:-cc}" -O1 -o "$work/$1" "$work/$1.c" || fail "cc: $1"
	profiled "$work/out" builtin START_DELAY=0s CPU_INTERVAL="$2" "$work/$1" 2>"$work/err" || fail "$1: $(cat "$work/err")"
}

record often 2ms
record seldom 40ms
"$agent" top --cpu --json "$work/out" >"$work/top.json" 2>"$work/err" || fail "top: $(cat "$work/err")"
/usr/bin/python3 - "$work/top.json" <<-'END' || fail 'top: the shorter interval counts more'
	import json, sys
	top = json.load(open(sys.argv[1]))
	total = {f["name"]: f["total"] for f in top["functions"]}
	print(top["unit"], total)
	assert top["unit"] == "nanoseconds" and 0.6 < total["often"] / total["seldom"] < 1.6, total
END
"$agent" collapsed --cpu "$work/out" >"$work/stacks" 2>"$work/err" || fail "collapsed: $(cat "$work/err")"
grep -q 'different sampling intervals; --total' "$work/err" || fail "collapsed: no note: $(cat "$work/err")"
"$agent" collapsed --cpu --total "$work/out" 2>&1 >"$work/stacks" | grep intervals && fail 'collapsed --total: a note'

for part in '--thread often' '--at 0s --for 100ms'; do
	# shellcheck disable=SC2086 # words
	"$agent" summary $part "$work"/out/often*.jfr >"$work/summary" || fail "summary $part"
	grep -q '^Lost *nothing' "$work/summary" || fail "summary $part: $(grep Lost "$work/summary")"
	grep -q '^Cost ' "$work/summary" || fail "summary $part: no cost"
done
