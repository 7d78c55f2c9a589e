/* The tracee: a running process that a tracer works on by ptrace(2). It is traced only while one of its threads is stopped,
 * for milliseconds. */
#ifndef ATTACH_TRACING_TRACEE_H
#define ATTACH_TRACING_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/tracing/stopped.h"
#include "core/buf.h"

/* How long to search for a thread that can be stopped. */
#define TRACEE_SEARCH_SECONDS 10

#define TRACEE_PROBLEM_MAX   256
#define TRACEE_AUXILIARY_MAX 4096 /* bytes */

struct tracee {
	pid_t pid;
	uintptr_t vdso; /* of the program that it must execute; 0: not known */
	char *problem;  /* TRACEE_PROBLEM_MAX bytes for one line; empty at first */
	bool has_begun; /* an agent, put into it, has begun */
	struct stopped thread;
};

/* Describe the error ERR, and return it. */
int tracee_fail(struct tracee *tracee, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Describe the error ERR of tracee_stop_thread(), and return it. */
int tracee_fail_to_stop(struct tracee *tracee, int err);

/* Sleep 1 ms before another attempt. */
void tracee_pause(void);

/* Open the file NAME of process PID in /proc. Returns the descriptor, or -1 with errno. */
int tracee_open(pid_t pid, const char *name, int flags);

/* Append the contents of that file. Returns 0 or -errno. */
int tracee_read(pid_t pid, const char *name, struct buf *text);

/* The value of KIND in AUXILIARY, the contents of /proc/PID/auxv; 0: none. */
uint64_t tracee_auxiliary_value(const struct buf *auxiliary, uint64_t kind);

/* The address of the vDSO of process PID; 0: not known. */
uintptr_t tracee_find_vdso(pid_t pid);

/* The state of thread TID, as in /proc/PID/stat; 0: it is gone. */
char tracee_thread_state(pid_t pid, pid_t tid);

/* Call VISIT for each thread until it returns something else than -EAGAIN, and return that. The main thread is the first. */
int tracee_visit_threads(struct tracee *tracee,
			 int (*visit)(struct tracee *tracee, pid_t tid, void *context),
			 void *context);

/* True if a thread has the name of an agent's. */
bool tracee_has_agent(struct tracee *tracee);

/* Stop thread TID of process PID in a safe place. Returns 0 or -errno. -EAGAIN: it runs; another thread, or a later time,
 * may be better. -ETIMEDOUT: it will stop at some time, and continue when this process ends. */
int tracee_stop_thread(struct stopped *thread, pid_t pid, pid_t tid);

/* Let the thread continue as if it had not been stopped: with its signal mask, and in the call that it waited in. */
void tracee_continue_thread(struct stopped *thread);

/* Fail if a thread uses Syscall User Dispatch: the kernel would pass calls of the agent's handler to the program. Threads of
 * a program that may use it are stopped, one after the other. Returns 0, or -errno with a description. */
int tracee_check_dispatch(struct tracee *tracee);

/* Stop any thread, call WORK(CONTEXT) with the stopped thread in TRACEE->thread, and let it continue. Returns 0, or -errno
 * with a description. */
int tracee_with_thread(struct tracee *tracee, int (*work)(void *context), void *context);

#endif
