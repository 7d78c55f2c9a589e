/* The memory events of a chunk in the order of time. Writers fill one buffer per thread or CPU, so
 * a chunk is a row of runs, each in order; they are merged straight from the map, and memory is
 * needed for the runs only. */
#ifndef DECODER_HEAP_ORDER_H
#define DECODER_HEAP_ORDER_H

#include "decoder/jfr_read.h"

struct run {
	int64_t time;     /* of its next event */
	uint32_t at, end; /* offsets in the chunk */
	uint32_t open;    /* for runs_merge() */
	uint32_t unused;
};

struct runs {
	struct run *list;
	uint32_t count, room;
};

/* Find the runs of the events of KINDS. Returns 0 (release with runs_free) or -ENOMEM; damage is in
 * chunk->error, and the runs then end there. */
int runs_find(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds);
void runs_free(struct runs *runs);

/* Call VISIT for each event, earliest first; those of one time in the order of the file. The runs
 * are used up. Returns 0 or -ENOMEM. */
int runs_merge(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds,
	       void (*visit)(void *arg, const struct jfr_event *event), void *arg);

#endif
