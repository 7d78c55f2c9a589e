/* The threads of ours that sleep in ways of their own: when the agent's thread gives up what the program gave up,
 * they are woken to do the same at once, and not when they look next. Each joins and leaves by itself. */
#ifndef CORE_AGENT_WAITERS_H
#define CORE_AGENT_WAITERS_H

#include <stdint.h>

/* WAKE(ARGUMENT) has the calling thread call privileges_follow() soon. It is called in the agent's thread, must not
 * wait, and is called no more when waiters_remove() returns. More than FOLLOWERS_MAX look in their own time. */
void waiters_add(void (*wake)(void *argument), void *argument);

#define FOLLOWERS_MAX 16

/* Before ARGUMENT goes, or the thread. */
void waiters_remove(void);

/* In the agent's thread, after privileges_follow(): when that has given something up since the last call, have all of
 * them follow, and wait TIMEOUT_NS for it at most: one may be in the middle of something. */
void waiters_wake(uint64_t timeout_ns);

#endif
