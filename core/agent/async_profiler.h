/* Interface to async-profiler: the only functions of asyncprof/ that the rest of the agent calls. A build with
 * ASYNCPROF=0 has core/agent/no_async_profiler.c instead of that folder. */
#ifndef CORE_AGENT_ASYNC_PROFILER_H
#define CORE_AGENT_ASYNC_PROFILER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct config;
struct engine;
struct engine_thread;
struct wake;

/* ---- The process, on the host's side ---- */

/* True when CONFIG allows async-profiler: its library is configured, or probably installed. */
bool async_profiler_is_wanted(const struct config *config);

/* Reserve the addresses that the dynamic linker and the C library will map for the library. In the constructor,
 * once. */
void async_profiler_reserve_addresses(void);

/* Release these addresses: the program limits or locks its address space. Any thread; async-signal-safe. */
void async_profiler_release_addresses(void);

/* Start async-profiler's thread if CONFIG allows it; then shared->async_profiler is not NULL. */
void async_profiler_start(const struct config *config);

/* Run CALL on async-profiler's thread, as its first request. Call it on the thread that called
 * async_profiler_start(). False when there is no such thread. */
bool async_profiler_call(void (*call)(void));

/* exit(3) was called. Before agent_before_exit(). */
void async_profiler_on_exit(void);

/* End the thread: the agent has ended or did not start. Uses nothing of the C library. */
void async_profiler_end(void);

/* Make async-profiler's threads check their privileges, after privileges_changed(). Async-signal-safe. */
void async_profiler_check_privileges(void);

/* Reset the state in a forked child, which has only async-profiler's memory. */
void async_profiler_reset_in_child(void);

/* ---- The interposers ----
 *
 * "The library" is async-profiler's. */

/* True when P points into the library. Async-signal-safe. */
bool async_profiler_contains(const void *p);

/* Run the library's handler of a sampling signal. */
void async_profiler_handle_signal(int signo, siginfo_t *info, ucontext_t *context);

/* The thread's thread-local data is not accessible now: note only that the signal has arrived. */
void async_profiler_refuse_signal(const siginfo_t *info);

/* sigaction(2) for calls by the library. */
int async_profiler_set_action(int signo, const struct sigaction *action, struct sigaction *old);

/* If the library handles the fault SIGNO, store the program's new ACTION, which the library's handler calls from now on; set
 * *OLD to the former one. Otherwise returns false, and nothing has changed. */
bool async_profiler_take_action(int signo, const struct sigaction *action, struct sigaction *old);

/* Return the action that the program sees for SIGNO instead of HANDLER, if HANDLER is the library's; else NULL. */
const struct sigaction *async_profiler_program_action(int signo, void (*handler)(int));

/* For the handler of a signal that ends the process; INFO describes the signal. True when it must be deferred: its
 * target thread is in fork(3), and another process or a timer sent it. The signal is then delivered again after
 * fork(3). Async-signal-safe. */
bool async_profiler_defer_signal(const siginfo_t *info);

/* An own thread has registered a destructor. INSIDE is an address in the library that registered it.
 *
 * If that is async-profiler's library, from now on its environment variables come from the copy
 * (core/start_environment.h). It reads variables in its constructors, while other threads may change the
 * environment. These constructors register C++ objects first, and the loader has already bound the library's
 * imports. */
void async_profiler_on_library_constructor(const void *inside);

/* The program's first own code runs, so all constructors of its modules have run. In its first thread; also in processes
 * without an agent. */
void async_profiler_on_program_start(void);

/* An own thread creates a thread: allocate a place for the new one. NULL when the creator is not async-profiler's,
 * or there is no room. */
struct engine_thread *async_profiler_thread_allocate(void);

/* Allocate a stack in the region for the thread of PLACE, and set *BYTES to its size. NULL on failure. */
void *async_profiler_thread_stack(struct engine_thread *place, size_t *bytes);

/* In the creating thread: the thread was created (IS_CREATED) or not. PLACE may be NULL. */
void async_profiler_thread_created(struct engine_thread *place, bool is_created);

/* Called in the new thread, possibly before async_profiler_thread_created(), and at the end of every thread. */
void async_profiler_thread_started(struct engine_thread *place);
void async_profiler_thread_ended(void);

/* ---- The agent's side ---- */

#define ASYNC_PROFILER_PROBLEM_MAX 1024

/* Load the library. On the agent thread, which WAKE wakes. Returns 0 and fills in ENGINE, or:
 * - -ENOENT when there is no library, or none may be loaded
 * - -ECANCELED when the agent ends while a Java process starts
 * - another -errno
 *
 * On failure PROBLEM, of ASYNC_PROFILER_PROBLEM_MAX bytes, has the reason. */
int async_profiler_open(struct engine *engine, const struct config *config, struct wake *wake,
			char *problem);

/* End async-profiler's thread, if there is one. Does not wait. */
void async_profiler_close(void);

#endif
