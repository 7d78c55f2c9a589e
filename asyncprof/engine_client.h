/* async-profiler as an engine, on the agent's side. Sends requests to the thread `asprof-engine` by a mailbox. Uses
 * nothing of the program's C library. */
#ifndef ASYNCPROF_ENGINE_CLIENT_H
#define ASYNCPROF_ENGINE_CLIENT_H

#include <stdbool.h>

#include "asyncprof/mailbox.h"
#include "core/agent/engine.h"

/* Timeout of a request, for a busy machine; and its minimum when the agent ends meanwhile. */
#define ENGINE_CLIENT_TIMEOUT_NS     60000000000u
#define ENGINE_CLIENT_TIMEOUT_MIN_NS 1000000000u

/* Load the library. PERF_ALLOWED: it may use perf events. On the agent thread, which WAKE wakes. Returns 0 and fills in
 * ENGINE, or:
 * - -ENOENT when there is no library, or none may be loaded
 * - -ECANCELED when the agent ends while a Java process starts
 * - another -errno
 *
 * On failure PROBLEM, of MAILBOX_PROBLEM_MAX bytes, has the reason. */
int engine_client_open(struct engine *engine, struct mailbox *mailbox, struct wake *wake,
		       bool perf_allowed, char *problem);

/* End the thread of MAILBOX, if there is one. Does not wait. */
void engine_client_close(struct mailbox *mailbox);

#endif
