/* System calls that a sample ends or cuts short, and time limits of waiting calls. A call is an array of its number and its
 * arguments. All functions are async-signal-safe. */
#ifndef PRELOAD_INTERPOSE_WAIT_LIMIT_H
#define PRELOAD_INTERPOSE_WAIT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "engine/sample/ring_wait.h"

/* A bit for each of these calls, and a bit for each transfer among them, so that other calls only cost one load. */
#define WAIT_NUMBERS 512
extern const uint64_t wait_numbers[WAIT_NUMBERS / 64], transfer_numbers[WAIT_NUMBERS / 64];

static inline bool wait_includes(long number)
{
	return (unsigned long)number < WAIT_NUMBERS &&
	       wait_numbers[number / 64] >> (number % 64) & 1;
}

static inline bool transfer_includes(long number)
{
	return (unsigned long)number < WAIT_NUMBERS &&
	       transfer_numbers[number / 64] >> (number % 64) & 1;
}

/* Maximum wait of a call. */
struct wait_limit {
	enum {
		LIMIT_NONE, /* without a limit, or until a time */
		LIMIT_MILLISECONDS,
		LIMIT_TIMESPEC,
		LIMIT_RING,          /* of io_uring_enter(2), in a structure */
		LIMIT_TIMESPEC_LEFT, /* the kernel writes the remaining time to it */
		LIMIT_TIMEVAL_LEFT
	} kind;
	int at;          /* position in the call */
	clockid_t clock; /* clock that measures it */
};

/* Remaining time for a restarted call. */
union wait_left {
	struct timespec spec;
	struct timeval val;
	struct {
		struct ring_wait wait;
		struct timespec time;
	} ring;
};

/* Return the limit of CALL. */
struct wait_limit wait_limit_of(const long *call);

/* Return LIMIT in nanoseconds; -1 without one. CALL has waited, so its pointers are valid. */
int64_t wait_limit_ns(const struct wait_limit *limit, const long *call);

/* Set the LIMIT of CALL to NS nanoseconds, or 0 if that is less. The call may then use *LEFT. */
void wait_limit_put(const struct wait_limit *limit, long *call, union wait_left *left, int64_t ns);

/* Return the position of the argument to which a relative sleep writes the remaining time; 0: none. */
int wait_limit_rest(const long *call);

/* True if the time at PLACE can be written: otherwise the kernel leaves it unchanged, without an error. */
bool wait_limit_can_be_written(long place);

/* Return the time of CLOCK, or SECONDS and NS, in nanoseconds. Very long times are shortened. */
int64_t wait_limit_now(clockid_t clock);
int64_t wait_limit_time(int64_t seconds, int64_t ns);

#endif
