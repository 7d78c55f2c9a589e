/* async-profiler as an engine, on the agent's side: what is asked of it goes to the thread that has it,
 * by a mailbox. Nothing here needs the program's C library. */
#ifndef ASYNCPROF_ENGINE_CLIENT_H
#define ASYNCPROF_ENGINE_CLIENT_H

#include <stdbool.h>

#include "asyncprof/mailbox.h"
#include "core/agent/engine.h"

/* How long an answer is waited for at most, on a machine that is as busy as can be; and at least, where
 * the agent is to end meanwhile. */
#define ENGINE_CLIENT_TIMEOUT_NS     60000000000u
#define ENGINE_CLIENT_TIMEOUT_MIN_NS 1000000000u

/* Have the library loaded; PERF_ALLOWED: it may have perf events. On the agent thread, which WAKE wakes.
 * Returns 0 and fills in ENGINE; -ENOENT where there is no library, or nobody was to look for it;
 * -ECANCELED where the agent is to end while a process of Java comes up; or another -errno. Then PROBLEM, of
 * MAILBOX_PROBLEM_MAX bytes, says so. */
int engine_client_open(struct engine *engine, struct mailbox *mailbox, struct wake *wake,
		       bool perf_allowed, char *problem);

/* The thread behind MAILBOX is to end, where there is one. Does not wait for it. */
void engine_client_close(struct mailbox *mailbox);

#endif
