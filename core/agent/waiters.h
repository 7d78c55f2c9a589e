/* Registry of own threads that block outside the agent's loop.
 *
 * When the agent's thread drops privileges, it wakes all registered threads, so that each drops its own immediately.
 * Threads register and unregister themselves. */
#ifndef CORE_AGENT_WAITERS_H
#define CORE_AGENT_WAITERS_H

/* Register the calling thread. WAKE(ARGUMENT) runs on the agent's thread and must not block. It makes the registered
 * thread call privileges_follow() soon. It is never called after waiters_remove() returns. */
void waiters_add(void (*wake)(void *argument), void *argument);

/* Unregister the calling thread, before ARGUMENT is freed or the thread ends. */
void waiters_remove(void);

/* Wake all registered threads if privileges_follow() has dropped something since the last call. In the agent's
 * thread, after privileges_follow(). */
void waiters_wake(void);

#endif
