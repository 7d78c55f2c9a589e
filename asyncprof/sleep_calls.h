/* Replacements for the calls by which async-profiler's thread sleeps between wall samples and is woken when it
 * stops. */
#ifndef ASYNCPROF_SLEEP_CALLS_H
#define ASYNCPROF_SLEEP_CALLS_H

#include <pthread.h>
#include <time.h>

/* clock_nanosleep(2). An absolute sleep on CLOCK_MONOTONIC ends with EINTR at engine_wake(). */
int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest);

/* pthread_cond_timedwait(3) and pthread_cond_signal(3), for async-profiler's only condition variable. TIME is on the
 * kernel's CLOCK_REALTIME, even if another preload changes the clock for the program. */
int engine_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *time);
int engine_signal(pthread_cond_t *changed);

/* pthread_kill(3). For SIGIO it sends no signal and ignores THREAD: it wakes the thread in engine_sleep(), or ends the
 * next sleep at once. */
int engine_wake(pthread_t thread, int signo);

/* Make all threads in these calls check their privileges; then they continue to wait. Call it after
 * privileges_changed(). Async-signal-safe. */
void sleep_calls_check_privileges(void);

#endif
