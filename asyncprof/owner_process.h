/* The process that loaded async-profiler.
 *
 * A forked child has async-profiler's code and its hooks, but none of its threads. There async-profiler must not wait
 * for these threads or for their locks, and must not create anything that takes samples. */
#ifndef ASYNCPROF_OWNER_PROCESS_H
#define ASYNCPROF_OWNER_PROCESS_H

#include <stdbool.h>

/* Set the calling process: it is about to load async-profiler. */
void owner_process_set(void);

/* In a forked child: note that this process did not load async-profiler. */
void owner_process_reset_in_child(void);

/* True if another process loaded async-profiler: this one is its child, also by a system call that is not interposed.
 * Async-signal-safe. */
bool owner_process_is_other(void);

#endif
