/* Counters of how walks ended. */
#ifndef ENGINE_UNWIND_UNWIND_STATS_H
#define ENGINE_UNWIND_UNWIND_STATS_H

#include <stdint.h>

enum unwind_end {
	UNWIND_COMPLETE,  /* at the entry of the thread */
	UNWIND_TRUNCATED, /* at MAX */
	UNWIND_NO_RULE,   /* in code without a known frame layout */
	UNWIND_BAD_STACK, /* at memory that is no stack, or no frame */
	UNWIND_ENDS
};

struct unwind_stats {
	uint64_t walks[UNWIND_ENDS];
};

/* Totals since the process began. Of walks that end at the same moment, only one may be counted. */
void unwind_stats_read(struct unwind_stats *stats);

#endif
