/* Thread `asprof-engine`: loads async-profiler and runs its commands.
 *
 * The thread is one of the program's C library. The agent sends it requests by a mailbox. It has all signals
 * blocked, its own descriptor table, and the priority of the program, because other threads wait for it. */
#ifndef ASYNCPROF_ENGINE_THREAD_H
#define ASYNCPROF_ENGINE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* The callbacks run on the thread. */
struct engine_thread_setup {
	const char *library; /* argument for dlopen(3) */
	bool is_configured; /* the user chose async-profiler; otherwise it is used if it is found */

	/* The library is loaded; it has not been called. INSIDE points into it. */
	void (*on_loaded)(const void *inside);

	/* The library has returned from its initialization or from a command. */
	void (*on_returned)(void);

	/* The library is initialized; it has received no command. */
	void (*on_ready)(void);

	/* The library is about to start sampling. */
	void (*before_start)(void);

	/* The library has stopped sampling: remove its signal handlers. WITH_FAULTS: none of its code runs in the
	 * program's threads, so its handlers of faults are removed too. */
	void (*on_detach)(bool with_faults);
};

/* True when the library is configured, or probably installed. The first call, which searches for it, is in the
 * constructor. */
bool engine_thread_is_wanted(const struct engine_thread_setup *setup);

/* Start the thread, and set shared->async_profiler to its mailbox. On the thread that starts the agent; not in signal
 * context. SETUP must stay valid. The mailbox has the reason of a failure. */
void engine_thread_start(const struct engine_thread_setup *setup);

/* Make the thread read the names that were requested (asyncprof/thread_names.h). Async-signal-safe. */
void engine_thread_wake(void);

/* Count SAMPLES as lost: the engine's handler uses too much of a thread's time. Async-signal-safe. */
void engine_thread_count_skipped(uint32_t samples);

/* Reset the state in a forked child, which has neither the thread nor the engine's descriptors. */
void engine_thread_reset_in_child(void);

#endif
