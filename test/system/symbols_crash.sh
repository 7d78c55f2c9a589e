#!/bin/sh
# A debug file that crashes libdw is reported, and the output has the names of the file's symbols.
set -u
. "$(dirname "$0")/agent.inc"
. test/system/symbols.inc

mkdir "$work/lib"
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -shared -fPIC -o "$work/lib/libdw.so.1" \
	test/programs/crashing_libdw.c || exit 1
LD_LIBRARY_PATH=$work/lib
export LD_LIBRARY_PATH

said="asprof-agent: $work/inlined.debug: reading this debug file crashed libdw (Aborted): only its symbols are used"
expect_stacks 'a crash' with.symbols --symbols "$work/inlined.debug"
[ "$(grep crashed "$work/said")" = "$said" ] || fail "not said: $(cat "$work/said")"

# Data that was read from a pipe is still there.
cat "$work/profiles"/*.jfr | "$agent" collapsed --cpu --symbols "$work/inlined.debug" - \
	>"$work/piped" 2>"$work/said" || fail "a pipe: $(cat "$work/said")"
"$agent" collapsed --cpu --symbols "$work/inlined.debug" "$work/profiles"/*.jfr \
	>"$work/files" 2>/dev/null
cmp "$work/files" "$work/piped" || fail "a pipe: $(cat "$work/piped")"

# The status is the command's.
"$agent" top --symbols "$work/inlined.debug" /nowhere >"$work/out" 2>"$work/said"
[ $? = 1 ] || fail 'a missing file is status 0'
exit 0
