/* The agent's own threads: few, small, and out of the program's way. */
#ifndef CORE_OWN_THREAD_H
#define CORE_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/shared.h"

#define OWN_THREAD_STACK_SIZE (256u << 10) /* a TLS handshake takes 20 KiB */

/* Start RUN(ARGUMENT) on a detached thread called NAME (cut to 15 bytes), with every signal
 * blocked from its first instruction on, the nice value of the thread that starts it, but never a real-time
 * priority, and a stack of OWN_THREAD_STACK_SIZE. Not in signal context. Returns 0; -EAGAIN when there are
 * OWN_THREADS_MAX already, or the system has no more; or another -errno. */
int own_thread_start(const char *name, void *(*run)(void *), void *argument);

/* Likewise with a stack of STACK_BYTES, for what calls more than ours. */
int own_thread_start_on(size_t stack_bytes, const char *name, void *(*run)(void *), void *argument);

/* In such a thread: have a nice value of 10 from now on, or the program's where that is higher. There
 * may be no way back, so what must not wait for the program's threads comes before. */
void own_thread_lower_priority(void);

/* The calling thread, which another has made, is one of ours: shared->agent.id has its number. */
void own_thread_adopt(void);

/* True in a thread that own_thread_start() made, and while one is being made by this thread.
 * Async-signal-safe. */
bool own_thread_is(void);

/* True when TID is such a thread. Async-signal-safe. */
bool own_thread_has_id(pid_t tid);

/* How many there are now, with those that are being made. Async-signal-safe. */
uint32_t own_thread_count(void);

/* One is being made, and may not be there yet. Async-signal-safe. */
bool own_thread_is_starting(void);

/* There are none, and the kernel has forgotten those that have ended: each is in its list for a moment more.
 * Async-signal-safe. */
bool own_thread_none_left(void);

/* None of ours is about to begin, nor has one ended that the kernel counts still. */
bool own_thread_is_settled(void);

/* In the agent's thread, which another has made: it is about to end. */
void own_thread_agent_ends(void);

/* In a forked child: there are none. */
void own_thread_forget(void);

#endif
