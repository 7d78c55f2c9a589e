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
 * OWN_THREAD_STACK_SIZE is in the region. Not in signal context.
 *
 * Returns 0; -EAGAIN when OWN_THREADS_MAX exist, or the system allows no more; or another -errno. */
int own_thread_start(const char *name, void *(*run)(void *), void *argument);

/* The same with a stack of STACK_BYTES, for code that needs more. */
int own_thread_start_on(size_t stack_bytes, const char *name, void *(*run)(void *), void *argument);

/* In an own thread: set its nice value to 10, or to the program's if that is higher. This may be irreversible. Call
 * it after work that must not wait for the program's threads. */
void own_thread_lower_priority(void);

/* Register the calling thread, which was created elsewhere, as an own thread: shared->agent.id has its id. */
void own_thread_adopt(void);

/* True in a thread of own_thread_start(), and in a thread that is creating one. Async-signal-safe. */
bool own_thread_is(void);

/* True when TID is an own thread. Async-signal-safe. */
bool own_thread_has_id(pid_t tid);

/* Return the number of own threads, also counting threads that are being created. Async-signal-safe. */
uint32_t own_thread_count(void);

/* Return the CPU time of the own threads that exist, in nanoseconds, and set *COUNT to their number. */
uint64_t own_thread_cpu_ns(unsigned *count);

/* True when an own thread is being created and may not exist yet. Async-signal-safe. */
bool own_thread_is_starting(void);

/* True when there are no own threads and the kernel's list has no ended ones either: they stay there for a moment.
 * Async-signal-safe. */
bool own_thread_none_left(void);

/* True when no own thread is about to begin, and the kernel counts none that has ended. */
bool own_thread_is_settled(void);

/* In the agent's thread, which was created elsewhere: it is about to end. */
void own_thread_agent_ends(void);

/* Reset the state in a forked child, which has no own threads. */
void own_thread_forget(void);

#endif
