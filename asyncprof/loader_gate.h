/* Lock between fork(2) and the dynamic linker.
 *
 * The dynamic linker has locks. If another thread is in a call of it (dlopen(3), dlsym(3), dl_iterate_phdr(3)), a
 * forked child finds them held for ever. Each such call of the agent, and of async-profiler in the agent's threads,
 * is between loader_gate_enter() and loader_gate_leave(). Nothing else is, because the program's fork waits for it.
 * (The list of modules is read without such a call: engine/modules/loader_list.h.) */
#ifndef ASYNCPROF_LOADER_GATE_H
#define ASYNCPROF_LOADER_GATE_H

#include <stdbool.h>

/* Maximum time that a fork waits: the forking thread may hold the lock that the other thread waits for. The longest
 * call is the one that loads async-profiler, a few milliseconds. After a fork that waited so long the next forks do
 * not wait. */
#define LOADER_GATE_WAIT_NS 500000000u

/* Register the handlers of fork(3). Before async-profiler's thread starts; other processes do not need it. Returns 0,
 * also at the next call, or -errno. */
int loader_gate_init(void);

/* In a thread within fork(3), between its handlers: call FUNCTION in the parent when the C library has released its
 * locks. Returns false in any other thread. Async-signal-safe. */
bool loader_gate_run_after_fork(void (*function)(void));

/* Calls may nest. Preserve errno. Not in signal context. */
void loader_gate_enter(void);
void loader_gate_leave(void);

#endif
