#!/bin/bash
# With each allocation recorded, gcc compiles a large file to the same object. Allocations that could not be recorded
# are counted. FUNCTIONS=10000 makes a file that takes minutes.
. "$(dirname "$0")/mem.inc"
have gcc

for ((i = 0; i < ${FUNCTIONS:-300}; i++)); do
	echo "int f$i(int a) { int s = 0; for (int j = 0; j < a; j++) s += j * $i ^ (s >> 3); return s; }"
done >"$work/large.c"
gcc -O2 -c "$work/large.c" -o "$work/bare.o" || fail "does not compile"
ASPROF_AGENT_NATIVE_MEM=0 preloaded timeout 300 gcc -O2 -c "$work/large.c" -o "$work/sampled.o" \
	2>"$work/err" || fail "status $?: $(cat "$work/err")"
[ ! -s "$work/err" ] || fail "$(cat "$work/err")"
cmp "$work/bare.o" "$work/sampled.o" || fail "another object"

"$B/asprof-agent" summary "$work"/out/cc1_*.jfr >"$work/summary" || fail "unreadable"
grep -q 'Lost  *[0-9]* samples' "$work/summary" || fail "no count of losses: $(cat "$work/summary")"
awk '$NF == "profiler.Malloc" { n = $1 } END { exit !(n > 1000) }' "$work/summary" ||
	fail "almost no allocations: $(cat "$work/summary")"
