#!/bin/bash
# async-profiler samples the memory of a program that does not move and uses the address of free,
# which in every library is then that of a stub in the program.
. "$(dirname "$0")/mem.inc"
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB is not set"

cat >"$work/stub.c" <<'END'
#include <stdlib.h>
#include <time.h>

int main(void)
{
	void (*volatile release)(void *) = free;
	time_t end = time(NULL) + 2;

	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++)
			release(malloc(1000));
	return 5;
}
END
${CC:-cc} -O1 -fno-builtin -fno-pie -no-pie -o "$work/stub" "$work/stub.c" || fail "cannot build"
export ASPROF_AGENT_ENGINE=async-profiler ASPROF_AGENT_LIB=$ASPROF_TEST_LIB \
	ASPROF_AGENT_NATIVE_MEM=64k
preloaded "$work/stub" 2>"$work/err"
status=$?
[ "$status $(cat "$work/err")" = "5 " ] || fail "status $status: $(cat "$work/err")"
"$B/asprof-agent" summary "$work"/out/*.jfr >"$work/summary" || fail "unreadable"
grep -q profiler.Malloc "$work/summary" || fail "no samples: $(cat "$work/summary")"
echo ok
