/* Number of threads of the process, as the kernel counts them. */
#ifndef ENGINE_PROCESS_THREAD_COUNT_H
#define ENGINE_PROCESS_THREAD_COUNT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the process has COUNT threads; false if the kernel does not report it. Much cheaper than a
 * list of them. Async-signal-safe. */
bool thread_count_is(size_t count);

#endif
