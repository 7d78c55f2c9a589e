/* Polls of an event loop, as the user event tokio.PollcatchV1 tells them, and stalls of one, as the user event
 * asprof.StallV1 does where the engine is not ours: each is a span of one thread's time, in ticks. */
#ifndef PROFILE_JFR_POLLS_H
#define PROFILE_JFR_POLLS_H

#include "profile/jfr/jfr_read.h"

struct poll {
	uint32_t tid;
	uint64_t start, duration; /* ticks */
	int ready;                /* of a stall: what the wait before it returned */
	bool told;                /* the reader's */
};

/* Sorted by thread and start. */
struct polls {
	struct buf list; /* struct poll */
	size_t count;
};

#define POLLS_INIT                         \
	{                                  \
		.list = BUF_INIT(1u << 30) \
	}

/* Read the chunk's polls, or its stalls, in place of those of another. Returns 0 or -ENOMEM. */
int polls_read(struct polls *polls, struct jfr_chunk *chunk);
int polls_read_stalls(struct polls *stalls, struct jfr_chunk *chunk);

/* The poll that was going on in thread TID at TICKS, or NULL. */
struct poll *polls_find_at(const struct polls *polls, int64_t tid, int64_t ticks);

/* The first poll of thread TID that begins behind FROM and before TO, or NULL. */
const struct poll *polls_find_first_between(const struct polls *polls, int64_t tid, int64_t from,
					    int64_t to);

void polls_free(struct polls *polls);

#endif
