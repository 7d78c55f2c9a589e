#!/bin/bash
# A program with one thread stays single-threaded for its C library while the builtin engine profiles it. The library
# does not know the agent's thread, and that thread never enters the program's malloc.
. "$(dirname "$0")/agent.inc"

# (Otherwise the compiler replaces malloc and memset in calloc by a call of calloc.)
alone=$(program alone -fno-builtin) || exit 1

# The check works: with a thread of the C library it finds two.
cat >"$work/thread.c" <<'C'
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int is_done;

static void *allocate(void *unused)
{
	free(malloc(100));
	is_done = 1;
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, allocate, NULL);
	while (!is_done)
		sched_yield();
}
C
${CC:-cc} -O1 -shared -fPIC -pthread -o "$work/thread.so" "$work/thread.c" || exit 1
LD_PRELOAD=$work/thread.so "$alone" 0.2 >"$work/said"
[ "$(sort "$work/said")" = "$(printf '%s\n' 'another thread allocates' \
	'the C library knows of another thread')" ] || fail "a thread is not noticed: $(cat "$work/said")"

profiled "$work/out" builtin CPU_INTERVAL=10ms WALL_INTERVAL=10ms REPORTING_INTERVAL=1s \
	"$alone" 2 >"$work/said" 2>&1 || fail "status $?, $(cat "$work/said")"
[ ! -s "$work/said" ] || fail "$(cat "$work/said")"
"$agent" top "$work/out" | grep -q ' main ' || fail "no profile of it"
echo ok
