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

/* A function that is not found stays unknown: the C library may lack it, or a module that was loaded later has it, such
 * as libpthread before glibc 2.34. A search in those would wait for the loader's lock. In a forked child, a thread that
 * does not exist there may have it. */
static void find_at_start(void **place, const char *name)
{
	void *function;

	if (__atomic_load_n(place, __ATOMIC_RELAXED))
		return;
	function = loaded_symbol_next_at_start(name).address;
	if (function)
		__atomic_store_n(place, function, __ATOMIC_RELAXED);
}

void real_find_all(void)
{
#define FIND(name) find_at_start((void **)&real.name, #name);
	REAL_FUNCTIONS(FIND)
#undef FIND
}
