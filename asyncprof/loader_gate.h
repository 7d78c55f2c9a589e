/* Keeps fork(2) and the dynamic loader apart. The loader has locks, and the child of a fork finds
 * them held for ever when another thread was in a call of it: dlopen(3), dlsym(3),
 * dl_iterate_phdr(3) and the like. Each such call of ours, and of async-profiler's in our threads,
 * stands between enter and leave; nothing else does, as the program's fork waits for it. (The list
 * of modules is read without: see engine/modules/loader_list.h.) */
#ifndef ASYNCPROF_LOADER_GATE_H
#define ASYNCPROF_LOADER_GATE_H

#include <stdbool.h>

/* A fork waits for who is in the gate, but no longer: the thread that forks may hold the lock that
 * the other waits for. The longest call is the one that loads async-profiler, a few milliseconds.
 * After a fork that waited so long the next ones do not. */
#define LOADER_GATE_WAIT_NS 500000000u

/* For a process that has async-profiler, and before its thread is started: no other has a fork wait.
 * Returns 0, also the next time, or -errno. */
int loader_gate_init(void);

/* In a thread that is in fork(3), between the handlers of that, where the C library has its locks: have THEN called there
 * when it has let them go, in the parent alone. False in any other. Async-signal-safe. */
bool loader_gate_run_after_fork(void (*then)(void));

/* They nest. errno is preserved. Not in signal context. */
void loader_gate_enter(void);
void loader_gate_leave(void);

#endif
