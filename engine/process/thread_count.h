/* How many threads the process has, as the kernel counts them. */
#ifndef ENGINE_PROCESS_THREAD_COUNT_H
#define ENGINE_PROCESS_THREAD_COUNT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it has COUNT threads; false where that cannot be told. Much cheaper than a list.
 * Async-signal-safe. */
bool thread_count_is(size_t count);

#endif
