/* The process that async-profiler was loaded in. A forked child has its code, and hooks that lead there, but none of
 * its threads: nothing is asked of those, no lock waited for that they may hold, and nothing made that would have
 * samples taken. */
#ifndef ASYNCPROF_OWNER_PROCESS_H
#define ASYNCPROF_OWNER_PROCESS_H

#include <stdbool.h>

/* It is about to be loaded in this one. */
void owner_process_set(void);

/* In a forked child. */
void owner_process_reset_in_child(void);

/* This is a child, also one that came by a system call which nobody told of. Async-signal-safe. */
bool owner_process_is_parent(void);

#endif
