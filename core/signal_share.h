/* Limit for the pending signals that the agent reserves.
 *
 * A kernel timer reserves one pending signal for as long as it exists. RLIMIT_SIGPENDING limits these for all
 * processes of a user. At the limit a program can neither create a timer nor queue a signal. So the agent leaves
 * half of the limit free, regardless of who uses the other half. */
#ifndef CORE_SIGNAL_SHARE_H
#define CORE_SIGNAL_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Reserve a signal before a timer is created. IS_LASTING: the timer lives long; short-lived timers may also use the
 * last quarter of the share. Returns false when none is left, or after signal_share_close(). Async-signal-safe. */
bool signal_share_reserve(bool is_lasting);

/* Return a reservation after its timer is deleted. Async-signal-safe. */
void signal_share_release(void);

/* Count thread TID, which gets no timer because of ERR: -EAGAIN when no signal is left, or the kernel's -errno. Returns
 * false, and counts nothing, if the share is closed or the thread has ended. Async-signal-safe. */
bool signal_share_count_refused(pid_t tid, int err);

/* Refuse further reservations, until signal_share_open(). Returns true when nothing is reserved: then there is no
 * timer, and none is being created. */
bool signal_share_close(void);
bool signal_share_is_closed(void);
void signal_share_open(void);

/* True when idle timers should be deleted. */
bool signal_share_is_scarce(void);

/* Number of reservations. */
int64_t signal_share_reserved(void);

/* Set how many more signals may be reserved: LEFT in all, of which RESERVE are for short-lived timers.
 * signal_share_measure() calls it. */
void signal_share_set(int64_t left, int64_t reserve);

/* Number of threads that got no timer since the process began, and the last error. */
uint64_t signal_share_refused(void);
int signal_share_error(void);

/* Reset the state in a forked child, which has none of its parent's timers. */
void signal_share_after_fork(void);

/* Measure how many signals are left, and log once when a thread got no timer. The agent thread calls it once a
 * second. */
void signal_share_measure(void);

#endif
