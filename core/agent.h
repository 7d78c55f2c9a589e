/* The agent: one thread that starts an engine, closes a report each interval, and hands it to
 * the reporters. There is one in a process. */
#ifndef CORE_AGENT_H
#define CORE_AGENT_H

#include <stdbool.h>

#include "core/equipment.h"
#include "core/options.h"
#include "core/wake.h"

struct agent_parts {
	const struct config *config; /* for as long as the process lives */

	/* Choose the engine and open the reporters, on the agent thread, after the start delay.
	 * WAKE wakes the agent thread. Returns 0, or -errno after saying why in the log. */
	int (*prepare)(struct agent_equipment *equipment, const struct config *config,
		       struct wake *wake);

	/* Called on the agent thread, once the engine has started; agent_before_exit() waits for
	 * it to return. */
	void (*started)(void);
};

/* Start the agent thread. Returns 0, -EALREADY while there is one, or -errno. */
int agent_start(const struct agent_parts *parts);

/* True from the first sample that may be taken to the last. */
bool agent_running(void);

/* Close the interval that is under way and wait, TIMEOUT_NS at most, until the reporters have
 * taken it. Any thread; not in signal context. Returns 0, -ESRCH without a running agent, or
 * -ETIMEDOUT. */
int agent_flush(uint64_t timeout_ns);

/* Have the interval that is under way closed and reported now, without waiting for it.
 * Async-signal-safe, from any thread. */
void agent_report_now(void);

/* Close the last interval, deliver it, and end the agent thread; wait for that TIMEOUT_NS at
 * most. While the start delay runs there is nothing to wait for: the thread will touch nothing,
 * but may not be gone yet. Async-signal-safe. Returns as above. */
int agent_stop(uint64_t timeout_ns);

/* The calling thread may have changed what it may do: have the agent thread give up what the program
 * has given up, and wait for that, TIMEOUT_NS at most. Async-signal-safe, from any thread. */
void agent_follow(uint64_t timeout_ns);

/* exit(3) was called, and its handlers are about to run. From here on no engine is loaded: the
 * handlers of a library whose constructors still run would pull its data from under it. One that
 * is being loaded or started now is waited for, TIMEOUT_NS at most. */
void agent_before_exit(uint64_t timeout_ns);

/* In a forked child: there is no agent. */
void agent_forget(void);

/* The engine that is running, or NULL. Any thread. */
const struct engine *agent_engine(void);

#endif
