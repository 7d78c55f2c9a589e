/* Polls of an event loop, as the user event tokio.PollcatchV1 tells them: each is a span of one
 * thread's time, in ticks of the timestamp counter. */
#ifndef PROFILE_JFR_POLLS_H
#define PROFILE_JFR_POLLS_H

#include "profile/jfr/jfr_read.h"

struct poll {
	uint32_t tid;
	uint64_t start, duration; /* ticks */
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

/* Read the chunk's polls in place of those of another. Returns 0 or -ENOMEM. */
int polls_read(struct polls *polls, struct jfr_chunk *chunk);

/* The poll that was going on in thread TID at TICKS, or NULL. */
const struct poll *polls_at(const struct polls *polls, int64_t tid, int64_t ticks);

/* The first poll of thread TID that begins behind FROM and before TO, or NULL. */
const struct poll *polls_after(const struct polls *polls, int64_t tid, int64_t from, int64_t to);

void polls_free(struct polls *polls);

#endif
