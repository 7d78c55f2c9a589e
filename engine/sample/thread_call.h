/* System call that a thread was last seen in.
 *
 * After a signal a handler sees that the kernel has ended a call with EINTR, but not which call. So the agent's thread reads the call
 * from /proc before it requests a wall-clock sample, if no interposer restarts calls. */
#ifndef ENGINE_SAMPLE_THREAD_CALL_H
#define ENGINE_SAMPLE_THREAD_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define THREAD_CALL_ARGUMENTS 6

/* A system call that has not returned: SP and PC are those after its return. */
struct thread_call {
	long number;
	uintptr_t arguments[THREAD_CALL_ARGUMENTS], sp, pc; /* pc 0: none is known */
};

/* Storage with one writer. */
struct thread_call_note {
	_Atomic uint32_t version; /* odd while it is written */
	struct thread_call call;
};

/* Store CALL. Agent thread. */
void thread_call_write(struct thread_call_note *note, const struct thread_call *call);

/* Copy the last call. False while it is being written. Async-signal-safe. */
bool thread_call_read(const struct thread_call_note *note, struct thread_call *call);

/* Parse TEXT, the contents of /proc/PID/task/TID/syscall. False if the thread waits in no call. */
bool thread_call_parse(struct thread_call *call, const char *text);

#endif
