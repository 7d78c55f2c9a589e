/* What the agent asks of async-profiler's thread, and what that answers. Plain memory and futexes: the
 * two may have different C libraries, and other tables of descriptors. There is one question at a time,
 * and the agent alone asks. */
#ifndef ASYNCPROF_MAILBOX_H
#define ASYNCPROF_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/asprof.h"
#include "core/wake.h"

/* A longer question is not asked; of a longer answer the rest is cut. */
#define MAILBOX_TEXT_MAX    8192
#define MAILBOX_ANSWER_MAX  8192
#define MAILBOX_PROBLEM_MAX 1024

enum mailbox_state {
	MAILBOX_NO_THREAD, /* there is no thread */
	MAILBOX_IDLE,      /* what was asked is answered; all below is the agent's */
	MAILBOX_REQUESTED, /* all below is the thread's */
	MAILBOX_ABANDONED, /* likewise; the agent waits no longer: the thread stops the engine, and ends */
	MAILBOX_ENDING, /* the thread is to end */
};

enum mailbox_request {
	MAILBOX_LOAD,    /* load and initialise the library */
	MAILBOX_EXECUTE, /* the command that TEXT is */
	MAILBOX_DETACH, /* take away what it has in the program, as it is to take no samples for a while */
};

struct mailbox {
	_Atomic uint32_t state; /* enum mailbox_state */
	_Atomic uint32_t rung;  /* so often: when STATE has changed for the thread; a futex */
	struct wake *asker;     /* woken when there is an answer */

	enum mailbox_request question;
	bool perf_allowed; /* as it is loaded: may it have perf events? */
	char text[MAILBOX_TEXT_MAX];

	int err; /* 0, or -errno with PROBLEM; while there is no thread, why */
	char problem[MAILBOX_PROBLEM_MAX];
	uint32_t answer_length;
	char answer[MAILBOX_ANSWER_MAX];
	uint64_t took_ns; /* CPU time of the thread's */

	/* Once it is loaded, as struct engine has them: for threads of the program. */
	struct asprof_thread_local_data *(*get_thread_local_data)(void);
	asprof_jfr_event_key (*register_jfr_event)(const char *name);
	asprof_error_t (*emit_jfr_event)(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length);
};

#endif
