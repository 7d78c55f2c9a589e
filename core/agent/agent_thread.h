/* Agent thread: starts an engine, closes a report each interval, and passes it to the reporters. One per process. */
#ifndef CORE_AGENT_AGENT_THREAD_H
#define CORE_AGENT_AGENT_THREAD_H

#include "core/agent/equipment.h"
#include "core/options/config.h"
#include "core/wake.h"

struct agent_parts {
	const struct config *config; /* valid until the process ends */

	/* Choose the engine and open the reporters, after the start delay. WAKE wakes the agent thread. Returns 0,
	 * or -errno after logging the reason. */
	int (*prepare)(struct agent_equipment *equipment, const struct config *config,
		       struct wake *wake);

	/* Called after the engine has started; agent_before_exit() waits until it returns. */
	void (*started)(void);

	/* Called after the end if the program continues without the agent (agent_leave()): its exit needs no report
	 * any more. */
	void (*left)(void);
};

/* Main function of the thread that agent_start() started. The calling thread is an own thread (core/own_thread.h).
 * After this returns it must use nothing of the agent. */
void agent_run(const struct agent_parts *parts);

#endif
