/* The agent of this process, for the constructor, the hooks and the C interface. */
#ifndef PRELOAD_PROCESS_AGENT_H
#define PRELOAD_PROCESS_AGENT_H

#include <stdbool.h>

#include "core/options/config.h"

/* Start the agent thread. Returns 0 or -errno, as agent_start(); -EPERM when this process is not to be profiled, or
 * its settings are invalid. */
int process_start_agent(void);

/* Stop the agent and wait for its last report, or cancel a pending start. Returns the same as agent_stop(). */
int process_stop_agent(void);

/* Cancel the pending start of an agent that a signal would start. Returns false when none is pending.
 * Async-signal-safe. */
bool process_cancel_start(void);

/* Create the thread of an agent that a signal would start after the start delay; it does nothing before that. The
 * program is about to do something after which that signal could be lost. Returns false when no start is pending.
 * Async-signal-safe. */
bool process_agent_start_thread(void);

/* Profile this process by the builtin engine from now on, because async-profiler cannot continue. An agent in its
 * start delay chooses that engine later. Any other agent is stopped, and a new one started. Async-signal-safe. */
void process_change_engine(void);

/* Suspend the agent for a call of the program that none of its threads may see. END stops these threads and returns
 * false when there were none. Several threads may be in such calls at once. Returns whether the agent is suspended. */
bool process_suspend_for_call(bool (*end)(void));

/* That call has returned. After the last of them, start the agent again by START (NULL: it stays off) when it was
 * ended. Returns true for that last call when the agent was ended. */
bool process_resume_after_call(int (*start)(void));

/* True when another thread is in such a call. */
bool process_is_suspended(void);

/* Start the agent as at the beginning of the process: after the start delay, by a timer if possible. Returns the
 * same as process_start_agent(), which creates a thread immediately, with the credentials of the calling thread. */
int process_schedule_agent(void);

/* Start no agent from now on, neither here nor in a forked child: new threads may not do what an agent needs. */
void process_disable_agent(void);

/* Reset the state in a forked child: it has a copy of its parent's memory, and only the calling thread.
 * Async-signal-safe. */
void process_reset_in_child(void);

/* Reset the state of the C interface in a forked child. */
void api_reset_in_child(void);

/* Return the settings, as far as they were read. Async-signal-safe. */
const struct config *process_config(void);

#endif
