/* Mailbox between the agent and the thread `asprof-engine`: one request and its answer, with futexes, in
 * the memory of the process. The two may have different C libraries and descriptor tables. Only the agent sends requests, one at a
 * time. */
#ifndef ASYNCPROF_MAILBOX_H
#define ASYNCPROF_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/asprof.h"
#include "core/agent/async_profiler.h"
#include "core/wake.h"

/* Longer commands are not sent. Longer answers are truncated. */
#define MAILBOX_TEXT_MAX    8192
#define MAILBOX_ANSWER_MAX  8192
#define MAILBOX_PROBLEM_MAX ASYNC_PROFILER_PROBLEM_MAX

enum mailbox_state {
	MAILBOX_NO_THREAD,
	MAILBOX_IDLE,      /* the request is answered; the agent owns the members below */
	MAILBOX_REQUESTED, /* the thread owns the members below */
	MAILBOX_ABANDONED, /* the same, but the agent has stopped waiting: the thread stops the engine and ends */
	MAILBOX_ENDING, /* the thread must end */
	MAILBOX_STUCK,  /* the library cannot go on: the thread waits forever; PROBLEM is set */
};

enum mailbox_request {
	MAILBOX_LOAD,    /* load and initialize the library */
	MAILBOX_EXECUTE, /* run the command in TEXT */
	MAILBOX_DETACH,  /* remove the library's signal handlers: it takes no samples for a while */
};

struct mailbox {
	_Atomic uint32_t state;   /* enum mailbox_state */
	_Atomic uint32_t changes; /* changes of STATE for the thread, and other wakeups; a futex */
	_Atomic pid_t thread;     /* the thread's id */
	atomic_bool is_exiting;   /* the program has called exit(3) */
	struct wake *client;      /* woken when there is an answer */

	enum mailbox_request request;
	bool perf_allowed; /* MAILBOX_LOAD: the library may use perf events */
	bool awaits_vm;    /* MAILBOX_LOAD: a Java VM has started, or is about to */
	char text[MAILBOX_TEXT_MAX];

	int err; /* 0, or -errno; without a thread, the reason */
	/* The reason of ERR in words; empty after -ENOENT, -ECANCELED, and -EBUSY of MAILBOX_DETACH. */
	char problem[MAILBOX_PROBLEM_MAX];
	uint32_t answer_length;
	char answer[MAILBOX_ANSWER_MAX + 1]; /* the agent adds the terminating NUL */

	/* Samples skipped because the handlers were over their time budget, or could not read the interrupted
	 * instruction. */
	_Atomic uint64_t skipped;

	/* Functions of the loaded library, as in struct engine, for threads of the program. */
	struct asprof_thread_local_data *(*get_thread_local_data)(void);
	asprof_jfr_event_key (*register_jfr_event)(const char *name);
	asprof_error_t (*emit_jfr_event)(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length);
};

#endif
