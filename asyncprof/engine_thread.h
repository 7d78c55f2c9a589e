/* async-profiler's thread: the one of the program's C library that loads it and commands it, as the agent
 * asks by a mailbox. It has all signals blocked, a table of descriptors apart from the program's and
 * the agent's, and the priority of the program: others wait for what it does. */
#ifndef ASYNCPROF_ENGINE_THREAD_H
#define ASYNCPROF_ENGINE_THREAD_H

#include <stdbool.h>

struct engine_thread_setup {
	const char *library; /* what is handed to dlopen(3) */
	bool is_chosen;      /* by the user; else it is taken where it is found */

	/* Called on the thread when the library has been loaded, and before its first call: INSIDE
	 * points into it. */
	void (*loaded)(const void *inside);

	/* Called on the thread when the library is ready for commands, and has none yet. */
	void (*ready)(void);

	/* Called on the thread before the library is to start sampling. */
	void (*starts)(void);

	/* Called on the thread when it takes no samples any more, nor anything else: its handlers of signals may go. WHOLLY:
	 * none of it runs in threads of the program's. */
	void (*is_leaving)(bool wholly);
};

/* Where the library was chosen, or seems to be there, start the thread, and have
 * shared->async_profiler lead to its mailbox; else that is NULL. On the thread that starts the agent, and
 * not in signal context; PARTS are there for as long as the process lives. Why it cannot be started is in
 * the mailbox. */
void engine_thread_start(const struct engine_thread_setup *parts);

/* Have CALL made on the thread, as the first that is asked of it. On the thread that has started it. False where there is
 * none. */
bool async_profiler_call(void (*call)(void));

/* The agent that would ask it has ended, or could not be started: the thread ends, where there is one.
 * Touches nothing of the C library. */
void async_profiler_end(void);

/* After privileges_changed(): have async-profiler's threads look at what they have to give up.
 * Async-signal-safe. */
void async_profiler_check_privileges(void);

/* In a forked child, which has no such thread, and none of the engine's descriptors. */
void engine_thread_reset_in_child(void);

#endif
