/* Looks at a thread from the agent's thread, without interrupting it. Agent thread only. */
#ifndef ENGINE_WAIT_WAIT_LOOK_H
#define ENGINE_WAIT_WAIT_LOOK_H

#include <stdint.h>

#include "engine/wait/wait.h"

/* Set how much looks read; the default is WAIT_OFF. */
void wait_look_detail(enum wait_detail detail);
bool wait_look_is_on(void);

/* Time of a thread on processors and in the run queue, in nanoseconds. */
struct wait_times {
	uint64_t cpu_ns, queue_ns;
};

/* Set *WAIT to what thread TID does now; CPU_NS is its CPU time. *SEEN are its times at the last
 * look that found it not waiting, at first zeros; they are updated. Such a thread is running or
 * runnable at random, in proportion to both times since then. The moment itself is no measure: the
 * agent's thread needs a processor to look, and so takes it from a thread. */
void wait_look(struct wait *wait, pid_t tid, uint64_t cpu_ns, struct wait_times *seen);

/* A system call in which a thread waits, as /proc/PID/syscall shows it. */
struct wait_arguments {
	long number; /* -1: the thread waits, but not in a system call */
	uintptr_t arguments[6];
};

/* Parse the contents of that file. Returns false if the thread is not waiting, or the text is
 * invalid. */
bool wait_arguments_parse(struct wait_arguments *out, const char *text);

/* Set the cause, the object and the lock of *WAIT from CALL of thread TID. */
void wait_set_call(struct wait *wait, pid_t tid, const struct wait_arguments *call);

#endif
