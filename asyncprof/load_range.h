/* Load range: addresses that the dynamic linker and the C library map when async-profiler is loaded.
 *
 * These two let the kernel choose an address, and it chooses the highest free range that is large enough. That could be
 * a range that the program has unmapped and maps again later with MAP_FIXED. So before the program runs, the
 * constructor reserves the load range and all smaller free ranges above it (async_profiler_reserve_addresses() in
 * core/agent/async_profiler.h). When the library is loaded, the load range is free and the highest. Both are reserved
 * without access; none of it is resident.
 *
 * There is no load range if the process has a limited address space (RLIMIT_AS), or if the kernel chooses the lowest
 * free range (an unlimited stack). Then all functions do nothing. */
#ifndef ASYNCPROF_LOAD_RANGE_H
#define ASYNCPROF_LOAD_RANGE_H

/* Free the load range before the library is loaded, and the ranges above it when the library has started. Thread
 * asprof-engine. */
void load_range_free(void);
void load_range_free_above(void);

#endif
