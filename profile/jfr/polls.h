/* Polls of an event loop (user event tokio.PollcatchV1), and stalls in recordings of async-profiler
 * (user event asprof.StallV1). The builtin engine's stalls are asprof.Stall events, with a stack, which
 * this does not read (JFR_STALL). Each poll or stall is a time span of one thread. */
#ifndef PROFILE_JFR_POLLS_H
#define PROFILE_JFR_POLLS_H

#include "profile/jfr/jfr_read.h"

struct poll {
	uint32_t tid;
	uint64_t start, duration; /* ticks */
	int ready;                /* stalls only: result of the wait before the stall */
	bool is_reported;         /* for use by the caller */
};

/* Polls or stalls of one chunk, sorted by thread and start. */
struct polls {
	struct buf list; /* struct poll */
	size_t count;
};

#define POLLS_INIT                         \
	{                                  \
		.list = BUF_INIT(1u << 30) \
	}

/* Replace the content by CHUNK's polls, or stalls. Returns 0 or -ENOMEM; release with
 * polls_free(). */
int polls_read(struct polls *polls, struct jfr_chunk *chunk);
int polls_read_stalls(struct polls *stalls, struct jfr_chunk *chunk);

/* Returns the poll that was running in thread TID at TICKS, or NULL. */
struct poll *polls_find_at(const struct polls *polls, int64_t tid, int64_t ticks);

/* Returns thread TID's first poll that starts after FROM and before TO, or NULL. */
const struct poll *polls_find_first_between(const struct polls *polls, int64_t tid, int64_t from,
					    int64_t to);

void polls_free(struct polls *polls);

#endif
