/* Limit for the pending signals that the agent reserves.
 *
 * A kernel timer reserves one pending signal for as long as it exists. RLIMIT_SIGPENDING limits these for all
 * processes of a user. At the limit a program can neither create a timer nor queue a signal. So the agent leaves
 * half of the limit free, regardless of who uses the other half. */
#ifndef CORE_SIGNAL_SHARE_H
#define CORE_SIGNAL_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Reserve a signal for a timer. IS_LASTING: the timer lives long; short-lived timers may also use the last quarter of the
 * share. False when none is left. signal_share_count_refused() counts a thread that has no timer because of ERR: -EAGAIN
 * when none is left, else the kernel's -errno. Async-signal-safe, as are the next two. */
bool signal_share_reserve(bool is_lasting);
void signal_share_release(void);
void signal_share_count_refused(int err);

/* Refuse further reservations, until signal_share_open(). Returns true when none is reserved or about to be: there
 * is no timer. */
bool signal_share_close(void);
bool signal_share_is_closed(void);
void signal_share_open(void);

/* True when idle timers should be deleted. */
bool signal_share_is_scarce(void);

/* Number of reservations; and how many more are LEFT, including the RESERVE for short-lived timers.
 * signal_share_measure() sets the latter two. */
int64_t signal_share_reserved(void);
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
