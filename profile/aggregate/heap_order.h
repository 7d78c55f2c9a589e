/* Iterator over a chunk's memory events in time order. Writers fill one buffer per thread or CPU,
 * so a chunk is a sequence of runs, each sorted by time. The runs are merged directly from the
 * mapped file; only the runs need memory. A chunk with more than RUNS_MAX runs is read several
 * times, one slice of time after another. */
#ifndef PROFILE_AGGREGATE_HEAP_ORDER_H
#define PROFILE_AGGREGATE_HEAP_ORDER_H

#include "profile/jfr/jfr_read.h"

#define RUNS_MAX (1u << 17)

/* Sort key of an event: its time, then its offset. */
struct event_rank {
	int64_t time;
	uint32_t at; /* offset in the chunk */
};

struct run {
	struct event_rank next; /* its next event */
	uint32_t end;           /* offset in the chunk */
	uint32_t open;          /* used by runs_merge() */
};

struct runs {
	struct run *list;
	uint32_t count, capacity;
	struct event_rank begin, end; /* the slice; `end` is excluded */
};

/* Find the runs of the events of KINDS. Returns 0 (release with runs_free) or -ENOMEM. Damage sets
 * chunk->error, and the runs end there. */
int runs_find(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds);
void runs_free(struct runs *runs);

/* Call VISIT for each event, earliest first, until it returns false. RUNS is consumed; release it
 * with runs_free(). Returns 0 or -ENOMEM. */
int runs_merge(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds,
	       bool (*visit)(void *arg, const struct jfr_event *event), void *arg);

#endif
