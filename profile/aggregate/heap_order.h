/* The memory events of a chunk in the order of time. Writers fill one buffer per thread or CPU, so
 * a chunk is a row of runs, each in order; they are merged straight from the map, and memory is
 * needed for the runs only. A chunk with more than RUNS_MAX of them is read several times, for one
 * slice of its time after another. */
#ifndef PROFILE_AGGREGATE_HEAP_ORDER_H
#define PROFILE_AGGREGATE_HEAP_ORDER_H

#include "profile/jfr/jfr_read.h"

#define RUNS_MAX (1u << 17)

/* Where an event stands in the order: by its time, among those of one time by its place. */
struct event_rank {
	int64_t time;
	uint32_t at; /* offset in the chunk */
};

struct run {
	struct event_rank next; /* its next event */
	uint32_t end;           /* offset in the chunk */
	uint32_t open;          /* for runs_merge() */
};

struct runs {
	struct run *list;
	uint32_t count, room;
	struct event_rank begin, end; /* the slice: from begin up to, not including, end */
};

/* Find the runs of the events of KINDS. Returns 0 (release with runs_free) or -ENOMEM; damage is in
 * chunk->error, and the runs then end there. */
int runs_find(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds);
void runs_free(struct runs *runs);

/* Call VISIT for each event, earliest first, until it returns false. The runs are used up. Returns
 * 0 or -ENOMEM. */
int runs_merge(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds,
	       bool (*visit)(void *arg, const struct jfr_event *event), void *arg);

#endif
