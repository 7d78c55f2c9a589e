#!/bin/sh
# Separate debug files name functions that were unknown on the recording machine, with inlined functions and lines, in
# every kind of output.
set -u
. "$(dirname "$0")/agent.inc"
. test/system/symbols.inc

# A tree as in distributions, a file with any name, and the directory of the program itself.
tree=$work/tree/.build-id/$(echo "$build_id" | cut -c1-2)
mkdir -p "$tree" "$work/any/where"
cp "$work/inlined.debug" "$tree/$(echo "$build_id" | cut -c3-).debug"
cp "$work/inlined.debug" "$work/any/where/name"
for directory in tree any any/where/name; do
	expect_stacks "names from $directory" with.names --symbols "$work/$directory"
done
grep -q 'inlined+0x' "$work/stacks" && fail "some functions have no name: $(cat "$work/stacks")"
grep -q 'no debug file for .*libc' "$work/said" || fail "libc's is not said to be missing"
expect_stacks 'lines' with.lines --lines --symbols "$work/tree"
grep 'work::mix_' "$work/with.names" >"$work/mixing"
expect_stacks 'filter by a new name' mixing --symbols "$work/tree" --include '^work::mix$'

# Compressed debug data, and only symbols, which have no inlined functions.
mkdir "$work/packed" "$work/bare"
objcopy --compress-debug-sections "$work/inlined.debug" "$work/packed/x" || exit 1
expect_stacks 'compressed' with.lines --lines --symbols "$work/packed"
objcopy --strip-debug "$work/inlined.debug" "$work/bare/x" || exit 1
expect_stacks 'symbols alone' with.symbols --symbols "$work/bare"
# A file that would need too much memory is reported, and only its symbols are used.
mkdir "$work/huge"
head -c 40000000 /dev/zero >"$work/zeros"
objcopy --add-section .debug_macro="$work/zeros" "$work/inlined.debug" "$work/huge/x" &&
	objcopy --compress-debug-sections "$work/huge/x" || exit 1
expect_stacks 'too large' with.symbols --symbols "$work/huge"
grep -q 'inlined: .* 38 MiB decompressed, the limit is lower' "$work/said" ||
	fail "too large: $(cat "$work/said")"
# Of two files with the build id, the better one is used.
expect_stacks 'both' with.names --symbols "$work/bare" --symbols "$work/any"

"$agent" top --cpu --symbols "$work/tree" "$work/profiles" 2>/dev/null |
	grep -q '^ .*%  work::mix \[inlined\]$' || fail 'top does not name it'
"$agent" top --cpu --json --lines --symbols "$work/tree" "$work/profiles" 2>/dev/null |
	grep -q "\"work::mix (inlined.cpp:$(line mixes))\"" || fail 'top --lines does not tell the line'
"$agent" flamegraph --cpu --symbols "$work/tree" "$work/profiles" 2>/dev/null |
	sed -n 's/^<script id="stacks"[^>]*>\([^<]*\).*/\1/p' | base64 -d | gunzip | grep -aq 'work::mix' ||
	fail 'the flame graph does not name it'

# Recordings of other profilers have neither addresses nor build ids.
"$agent" top --symbols "$work/tree" test/fixtures/jfr/native.jfr 2>&1 >/dev/null |
	grep -q 'no address to look up' || fail 'a recording without addresses is not told of'

# Files that are not debug files, and damaged ones.
head -c 3000 "$work/inlined.debug" >"$work/cut"
expect_stacks 'a file that is cut off' addresses --lines --symbols "$work/cut"
"$agent" top --symbols "$work/nowhere" "$work/profiles" >"$work/out" 2>"$work/said"
[ $? = 1 ] && grep -q 'nowhere: No such file' "$work/said" || fail 'a missing directory'
exit 0
