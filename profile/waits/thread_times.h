/* Exact times of threads: asprof.ThreadTimes and asprof.Throttling, which only the builtin engine
 * writes. Wall-clock samples are scaled to them. */
#ifndef PROFILE_WAITS_THREAD_TIMES_H
#define PROFILE_WAITS_THREAD_TIMES_H

#include "profile/aggregate/feed.h"
#include "profile/aggregate/profile.h"

/* In nanoseconds, by enum wait_state; all 0: unknown. */
struct thread_time {
	double states[WAIT_STATES];
};

struct thread_times {
	struct thread_time *list; /* by thread ID in the profile */
	uint32_t capacity;
	double throttled_ns; /* of all processes, as the sum over processors */
	bool is_throttling_known;
	bool out_of_memory;
};

/* Read the times within the period of QUERY from all of FEED, and only of the threads that it
 * selects. Threads are added to PROFILE. TIMES starts as {0}. Returns 0, -ENOMEM, or -EIO as
 * profile_read(). Release with thread_times_free() in any case. */
int thread_times_read(struct thread_times *times, struct profile *profile,
		      const struct query *query, struct feed *feed);
void thread_times_free(struct thread_times *times);

/* Scale the wall-clock samples of PROFILE, which was read with query.waits, so that the totals of
 * each thread and state are those of TIMES. A state without a sample gets a sample without a stack.
 * Threads whose times are unknown, or of less than half of their sampled time, are not changed.
 * Returns the share of the time that is exact now, 0 to 1. */
double thread_times_scale(const struct thread_times *times, struct profile *profile);

#endif
