/* Own threads: the threads of the agent. They are few, have small stacks, and do not disturb the program. */
#ifndef CORE_OWN_THREAD_H
#define CORE_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/shared.h"

#define OWN_THREAD_STACK_SIZE (256u << 10) /* a TLS handshake takes 20 KiB */

/* Start RUN(ARGUMENT) on a detached thread called NAME (truncated to 15 bytes). Every signal is blocked from its
 * first instruction on. It has the nice value of the calling thread, but no real-time priority. Its stack of
 * OWN_THREAD_STACK_SIZE is in the address region (core/memory/region.h). Not in signal context.
 *
 * Returns 0; -EAGAIN when OWN_THREADS_MAX exist, or the system allows no more; or another -errno. */
int own_thread_start(const char *name, void *(*run)(void *), void *argument);

/* The same with a stack of STACK_BYTES, for code that needs more. */
int own_thread_start_on(size_t stack_bytes, const char *name, void *(*run)(void *), void *argument);

/* Make own_thread_is() true in the agent's main thread, which own_thread_start() did not create. Its id is in
 * shared->agent.id already. */
void own_thread_adopt(void);

/* True in an own thread, and in a thread that is creating one. Async-signal-safe. */
bool own_thread_is(void);

/* True when TID is an own thread. Async-signal-safe. */
bool own_thread_has_id(pid_t tid);

/* Return the number of own threads, also counting threads that are being created. Async-signal-safe. */
uint32_t own_thread_count(void);

/* Return the CPU time of the own threads that exist, in nanoseconds, and set *COUNT to their number. */
uint64_t own_thread_cpu_ns(unsigned *count);

/* True when an own thread is being created and may not exist yet. Async-signal-safe. */
bool own_thread_is_starting(void);

/* True when there are no own threads, and the kernel has removed all ended ones from its list of the process's threads,
 * which takes a moment. Async-signal-safe. */
bool own_thread_none_left(void);

/* True when own_thread_count() agrees with the kernel's number of own threads: none is starting, and the kernel has
 * removed all ended ones. Async-signal-safe. */
bool own_thread_is_settled(void);

/* Record the end of the calling thread, the agent's main thread. own_thread_start() does this for its threads. */
void own_thread_agent_ends(void);

/* Reset the state in a forked child, which has no own threads. */
void own_thread_forget(void);

#endif
