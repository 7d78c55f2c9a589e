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

/* True in a forked child that has called owner_process_reset_in_child(). Without a system call, which a sandbox may
 * forbid: the hooks of malloc(3) also run there. Async-signal-safe. */
bool owner_process_is_child(void);

/* True if another process loaded async-profiler: this one is its child, also by a system call that is not interposed.
 * Without a system call where owner_process_is_child(). Async-signal-safe. */
bool owner_process_is_other(void);

#endif
