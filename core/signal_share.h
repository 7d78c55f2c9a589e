/* Our share of the signals that may pend. A timer takes one for as long as it exists, and what a user may
 * have at once (RLIMIT_SIGPENDING) is for all its processes: a program that finds them taken cannot make
 * a timer or queue a signal. So half of them are left alone, whoever has taken the others. */
#ifndef CORE_SIGNAL_SHARE_H
#define CORE_SIGNAL_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* For a timer that LASTS, or for one that is given back soon, for which the last quarter of the share is
 * kept. False when there is none left; a thread that goes without for that, or as the kernel gives it no timer, is to be
 * counted by signal_share_count_refused() with -EAGAIN or -errno. Async-signal-safe, as are the next two. */
bool signal_share_reserve(bool lasts);
void signal_share_release(void);
void signal_share_count_refused(int err);

/* Have nobody take one any more, until it is open again. Returns true when none is taken, nor about to be: there is no
 * timer. */
bool signal_share_close(void);
bool signal_share_is_closed(void);
void signal_share_open(void);

/* True when timers that wait for nothing should be given back. */
bool signal_share_is_scarce(void);

/* How many we have taken; and how many are LEFT for us, the RESERVE for timers that do not last among
 * them, as signal_share_measure() found out. */
int64_t signal_share_reserved(void);
void signal_share_set(int64_t left, int64_t reserve);

/* Threads that went without, since the process began; and what the last one met. */
uint64_t signal_share_refused(void);
int signal_share_error(void);

/* In a forked child, which has none of its parent's timers. */
void signal_share_after_fork(void);

/* See how many there are, and say once if some thread went without. The agent's thread, now and then. */
void signal_share_measure(void);

#endif
