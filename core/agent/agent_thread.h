/* The agent thread, on its own side: one thread that starts an engine, closes a report each interval, and
 * hands it to the reporters. There is one in a process. */
#ifndef CORE_AGENT_AGENT_THREAD_H
#define CORE_AGENT_AGENT_THREAD_H

#include "core/agent/equipment.h"
#include "core/options/config.h"
#include "core/wake.h"

struct agent_parts {
	const struct config *config; /* for as long as the process lives */

	/* Choose the engine and open the reporters, after the start delay. WAKE wakes the agent
	 * thread. Returns 0, or -errno after saying why in the log. */
	int (*prepare)(struct agent_equipment *equipment, const struct config *config,
		       struct wake *wake);

	/* Called once the engine has started; agent_before_exit() waits for it to return. */
	void (*started)(void);

	/* Called behind the end, where the program goes on without (agent_leave()): its end is not worth being told any
	 * more. */
	void (*left)(void);
};

/* What the thread that agent_start() has begun does, until it is stopped. The calling thread is one of
 * ours (core/own_thread.h), and must touch nothing of the agent's when this has returned. */
void agent_run(const struct agent_parts *parts);

#endif
