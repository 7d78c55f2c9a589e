/* The last event at each address of one chunk, whatever the order of the events. There can be
 * millions, so an entry is small, and the event is read again where more of it is wanted. */
#ifndef PROFILE_AGGREGATE_LAST_TABLE_H
#define PROFILE_AGGREGATE_LAST_TABLE_H

#include "profile/jfr/jfr_read.h"

/* Events of these kinds are noted. */
#define LAST_KINDS (JFR_MASK(JFR_MALLOC) | JFR_MASK(JFR_FREE))

struct last {
	uint64_t address;   /* 0: the place is free */
	uint32_t at;        /* of the event, in the chunk */
	uint32_t time : 31; /* since the chunk's start, in as many ticks as make it fit */
	uint32_t holds : 1; /* an allocation, not a free */
};

struct last_table {
	struct last *list;
	uint32_t count, capacity;
	struct jfr_chunk *chunk;
	unsigned time_shift;
};

/* Returns 0 (release with last_table_close) or -ENOMEM. CHUNK must outlive the table. */
int last_table_open(struct last_table *table, struct jfr_chunk *chunk);
void last_table_close(struct last_table *table);

/* EVENT of the chunk, which has an address. Returns 0 or -ENOMEM. */
int last_table_note(struct last_table *table, const struct jfr_event *event);

bool last_table_has(const struct last_table *table, uint64_t address);

/* Make the list one of table->count allocations, long stretches of it in the order of the file;
 * nothing can be noted or found any more. */
void last_table_keep_held(struct last_table *table);

#endif
