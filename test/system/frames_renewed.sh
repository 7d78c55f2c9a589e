#!/bin/bash
# A program makes functions all the time, more than the frame table has room for. The last ones have their own names
# and lines like the first ones, and so has the owner of old retained memory.
. "$(dirname "$0")/agent.inc"
python=${PYTHON:-$(command -v python3)}
have "${python:-python3}"
lots=12 lot=5000

out=$(profiled "$work/out" builtin CPU_INTERVAL=off WALL_INTERVAL=200ms NATIVE_MEM=4k REPORTING_INTERVAL=10m \
	LOCAL_MAX_BYTES=0 "$python" test/programs/makes_functions.py 2>"$work/err") ||
	fail "status $?: $(cat "$work/err")"
[ "$out" = "$lots" ] || fail "its output is: $out"
[ ! -s "$work/err" ] || fail "on standard error: $(cat "$work/err")"

"$agent" collapsed --alloc --lines "$work/out" >"$work/stacks" || fail "no stacks"
grep -q '(makes_functions.py:' "$work/stacks" || skip "functions of this Python are not shown"
grep -E '\[frame table full\]|\[forgotten\]' "$work/stacks" >"$work/lost" &&
	fail "$(wc -l <"$work/lost") stacks without a name: $(head -n 5 "$work/lost")"

# The first function of each batch begins in line 2.
grep -oE 'made_[0-9]+ [(][^)]*[)]' "$work/stacks" | sort -u >"$work/made"
awk -F'[_ (.:)]' -v lot="$lot" '{ l = int($2 / lot); if ($4 != "lot" l || $6 != $2 % lot + 2) print }' \
	"$work/made" >"$work/wrong"
[ ! -s "$work/wrong" ] || fail "wrong names: $(head -n 5 "$work/wrong")"
for l in $(seq 0 $((lots - 1))); do
	got=$(grep -c "(lot$l.py:" "$work/made")
	# (On a very busy machine the agent loses most samples.)
	[ "$got" -ge 10 ] || fail "lot $l: $got of $lot functions are named"
done

"$agent" leaks --lines -n 0 --stack-depth 99 "$work/out" >"$work/leaks" || fail "no leaks"
for l in $(seq 0 $((lots - 1))); do
	grep -qE "keeps_$l [(]lot$l.py:1[)]|keeps_$l \[lot$l.py\]" "$work/leaks" ||
		fail "what keeps_$l holds is not named: $(head -c 4000 "$work/leaks")"
done
