/* The next definitions of interposed functions. */
#include "preload/interpose/real.h"

#include <errno.h>

#include "core/loaded_symbol.h"

struct real real;

/* Called by a program that found our function although its C library has none. */
static long real_missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* Threads that run this at the same time write the same value. */
COLD void *real_find(void **place, const char *name)
{
	int saved = errno;
	void *function = loaded_symbol_next(name).address;

	if (!function)
		function = (void *)real_missing;
	__atomic_store_n(place, function, __ATOMIC_RELAXED);
	errno = saved;
	return function;
}

void real_find_all(void)
{
#define FIND(name) (void)REAL(name);
	REAL_FUNCTIONS(FIND)
#undef FIND
}
