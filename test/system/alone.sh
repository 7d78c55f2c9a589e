#!/bin/bash
# A program of one thread is that for its C library, too, while the builtin engine profiles it: the agent's
# thread is not one that the library knows of, and never enters the program's malloc.
. "$(dirname "$0")/agent.inc"

# (Or the compiler makes calloc of its malloc and memset, in calloc.)
alone=$(program alone -fno-builtin) || exit 1

# It can tell: with a thread of the C library it finds both.
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
