/* The agent of this process, as the constructor, the hooks and the C interface see it. */
#ifndef PRELOAD_PROCESS_AGENT_H
#define PRELOAD_PROCESS_AGENT_H

#include <stdbool.h>

#include "core/options/config.h"

/* Start the agent thread. Returns 0, or -errno as agent_start() has it; -EPERM when this process is
 * not one to profile, as the settings say or as they are wrong. */
int process_start_agent(void);

/* Stop it, and wait for its last report, or call off one that is about to start. Returns as agent_stop()
 * does. */
int process_stop_agent(void);

/* One that is to be started by a signal, when the start delay is over, gets its thread now, and touches nothing
 * before: the program is about to become one in which that signal could go astray. False when none is to be.
 * Async-signal-safe. */
bool process_agent_start_thread(void);

/* async-profiler cannot go on in this process, and its agent has been stopped: start one that has the builtin
 * engine. Async-signal-safe. */
void process_change_engine(void);

/* It was ended for something that the program can only do without it, and not for good: forked children
 * may have theirs; and, once that is done, this process may again, if it had to. */
void process_made_way(void);
void process_come_again(void);

/* The same, by a thread that is made now, and so has what the calling one has, or less. */
void process_come_again_from_here(void);

/* It does not come again. False when it had not made way. */
bool process_stay_away(void);

/* What an agent needs is refused to threads that begin from now on: none is started any more, here or in a
 * forked child. */
void process_confined(void);

/* This is a child with a copy of its parent's memory, and none of its threads but the calling one.
 * Async-signal-safe. */
void process_reset_in_child(void);

/* In a forked child: nothing is known of what the program has said by the C interface. */
void api_forget(void);

/* The settings, as far as they were read. Async-signal-safe. */
const struct config *process_config(void);

#endif
