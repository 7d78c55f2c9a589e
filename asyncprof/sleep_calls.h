/* Replacements for the calls by which async-profiler's thread sleeps between wall samples and is woken when it
 * stops. */
#ifndef ASYNCPROF_SLEEP_CALLS_H
#define ASYNCPROF_SLEEP_CALLS_H

#include <pthread.h>
#include <time.h>

/* clock_nanosleep(2); engine_wake() ends it with EINTR. */
int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest);

/* pthread_cond_timedwait(3), by the kernel's clock even if the program has another one, and pthread_cond_signal(3). */
int engine_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *time);
int engine_signal(pthread_cond_t *changed);

/* pthread_kill(3). For SIGIO it sends no signal, but wakes the sleeping thread, or ends its next sleep at once. */
int engine_wake(pthread_t thread, int signo);

/* Make all threads in these calls check their privileges and continue. After privileges_changed().
 * Async-signal-safe. */
void sleep_calls_check_privileges(void);

#endif
