/* How async-profiler sleeps between two samples of wall time, and is woken when it is to stop. */
#ifndef ASYNCPROF_SLEEP_CALLS_H
#define ASYNCPROF_SLEEP_CALLS_H

#include <pthread.h>
#include <time.h>

/* clock_nanosleep(2), which engine_wake() ends with EINTR. */
int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest);

/* pthread_cond_timedwait(3), by the kernel's clock whatever the program's is, and
 * pthread_cond_signal(3). */
int engine_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *time);
int engine_signal(pthread_cond_t *changed);

/* pthread_kill(3); with SIGIO no signal is sent, but the sleeper is woken, or at once when it goes
 * to sleep the next time. */
int engine_wake(pthread_t thread, int signo);

/* Have all that sleep or wait look at their privileges, and go on. After privileges_changed().
 * Async-signal-safe. */
void sleep_calls_check_privileges(void);

#endif
