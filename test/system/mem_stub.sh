#!/bin/bash
# async-profiler samples the memory of a non-PIE program that uses the address of free. In every library that address
# is then a stub in the program.
. "$(dirname "$0")/mem.inc"
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB is not set"

# Until the second report, which covers a second in which it ran; 60 s at most.
cat >"$work/stub.c" <<'END'
#include <stdlib.h>
#include <time.h>

#include "test/programs/reports.h"

int main(int argc, char **argv)
{
	void (*volatile release)(void *) = free;
	time_t end = time(NULL) + 60;

	while (reports(argv[argc - 1]) < 2 && time(NULL) < end)
		for (int i = 0; i < 100000; i++)
			release(malloc(1000));
	return 5;
}
END
${CC:-cc} -O1 -fno-builtin -fno-pie -no-pie -I. -o "$work/stub" "$work/stub.c" || fail "cannot build"
export ASPROF_AGENT_ENGINE=async-profiler ASPROF_AGENT_LIB=$ASPROF_TEST_LIB \
	ASPROF_AGENT_NATIVE_MEM=64k ASPROF_AGENT_REPORTING_INTERVAL=1s
preloaded "$work/stub" "$work/out/*.jfr" 2>"$work/err"
status=$?
[ "$status $(cat "$work/err")" = "5 " ] || fail "status $status: $(cat "$work/err")"
"$B/asprof-agent" summary "$work"/out/*.jfr >"$work/summary" || fail "unreadable"
grep -q profiler.Malloc "$work/summary" || fail "no samples: $(cat "$work/summary")"
echo ok
