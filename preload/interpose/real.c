/* The functions that stand behind our interposers. */
#include "preload/interpose/real.h"

#include <errno.h>

#include "core/loaded_symbol.h"

struct real real;
bool real_resolved;

/* A program gets here when it found our function where its C library has none. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

static void *next(const char *name)
{
	void *function = loaded_symbol_next(name).address;

	return function ? function : (void *)missing;
}

/* Threads that come here together write the same values. */
void real_resolve(void)
{
	int saved = errno;

#define RESOLVE(name) __atomic_store_n((void **)&real.name, next(#name), __ATOMIC_RELAXED);
	REAL_FUNCTIONS(RESOLVE)
#undef RESOLVE
	__atomic_store_n(&real_resolved, true, __ATOMIC_RELEASE);
	errno = saved;
}
