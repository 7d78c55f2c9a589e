/* Number of threads of the process, as the kernel counts them. */
#ifndef ENGINE_PROCESS_THREAD_COUNT_H
#define ENGINE_PROCESS_THREAD_COUNT_H

#include <stddef.h>

/* The number, or 0 if the kernel does not report it. Much cheaper than a list of the threads. Async-signal-safe. */
size_t thread_count(void);

#endif
