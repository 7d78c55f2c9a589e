/* Looks at a thread from the agent's thread, without interrupting it. Agent thread only. */
#ifndef ENGINE_WAIT_WAIT_LOOK_H
#define ENGINE_WAIT_WAIT_LOOK_H

#include <stdint.h>

#include "engine/sample/thread_call.h"
#include "engine/wait/wait.h"

/* Set how much looks read; the default is WAIT_OFF. */
void wait_look_detail(enum wait_detail detail);
bool wait_look_is_on(void);

/* What looks remember of a thread; at first zeros. */
struct wait_seen {
	uint64_t cpu_ns,
		queue_ns; /* on processors and in the run queue, at the last look that found
				    * the thread not waiting */
	/* The thread's open files "syscall" and "schedstat", in the agent's own descriptor table;
	 * 0: none. */
	int call_fd, times_fd;
};

/* At most so many of these files are open, and at most an eighth of RLIMIT_NOFILE: the kernel keeps a
 * buffer of a page for each. Other threads' files are opened for each look, for at most
 * WAIT_OPENS_PER_SECOND looks; further ones find an unknown state. */
#define WAIT_FILES_MAX        256
#define WAIT_OPENS_PER_SECOND 5000

/* Set *WAIT to what thread TID does now; CPU_NS is its CPU time. A thread that does not wait is running or runnable at
 * random, in proportion to both times since the last such look. The moment itself is no measure: the agent's thread needs
 * a processor to look, and so takes it from a thread. */
void wait_look(struct wait *wait, pid_t tid, uint64_t cpu_ns, struct wait_seen *seen);

/* True if the thread, which has not run since it waited, is in the run queue now. False if it has no
 * open file: the look would take too long for threads that sleep all the time. */
bool wait_is_over(const struct wait_seen *seen);

/* The same for thread TID, whose file is opened if necessary. */
bool wait_has_ended(pid_t tid, struct wait_seen *seen);

/* The thread has ended. */
void wait_seen_clear(struct wait_seen *seen);

/* Parse TEXT, the contents of /proc/PID/syscall, as thread_call_parse(). The number is -1, and the rest 0, if the
 * thread waits but not in a system call. Returns false if it is not waiting, or the text is invalid. */
bool wait_call_parse(struct thread_call *out, const char *text);

/* Set the cause, the object and the lock (without its owner) of *WAIT from CALL of thread TID. */
void wait_set_call(struct wait *wait, pid_t tid, const struct thread_call *call);

#endif
