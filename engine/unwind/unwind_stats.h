/* How walks ended, counted. */
#ifndef ENGINE_UNWIND_UNWIND_STATS_H
#define ENGINE_UNWIND_UNWIND_STATS_H

#include <stdint.h>

enum unwind_end {
	UNWIND_COMPLETE,  /* at the entry of the thread */
	UNWIND_TRUNCATED, /* at MAX */
	UNWIND_NO_RULE,   /* at code that tells nothing of its frame */
	UNWIND_BAD_STACK, /* at memory that cannot be, or cannot be a frame */
	UNWIND_ENDS
};

struct unwind_stats {
	uint64_t walks[UNWIND_ENDS];
};

/* Totals since the process began. Walks that end at the same moment may be counted once. */
void unwind_stats_read(struct unwind_stats *stats);

#endif
