/* Samples over time, for each process: the source of sparklines. One thread uses a table. */
#ifndef PROFILE_BASICS_SPARK_H
#define PROFILE_BASICS_SPARK_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/basics/intern.h"

#define SPARK_COLUMNS 60

struct spark {
	uint64_t samples;
	uint64_t counts[SPARK_COLUMNS];
};

/* Starts as {0}; the time range is set before the first sample. */
struct sparks {
	int64_t start_ns, end_ns;
	struct intern processes; /* names */
	struct spark *list;      /* by ID in processes */
	uint32_t capacity;
};

/* Count COUNT samples of PROCESS at TIME_NS; times outside of the range are ignored. Returns false
 * when out of memory. */
bool sparks_add(struct sparks *sparks, const char *process, int64_t time_ns, uint64_t count);

/* Add FROM, of the same time range, to INTO. Returns false when out of memory. */
bool sparks_merge(struct sparks *into, const struct sparks *from);
void sparks_free(struct sparks *sparks);

/* Bytes of a sparkline, with its NUL. */
#define SPARK_TEXT (SPARK_COLUMNS * 3 + 1)

/* Write COUNTS as block characters; MOST is the count of a full block. */
void spark_format(char text[SPARK_TEXT], const uint64_t counts[SPARK_COLUMNS], uint64_t most);

#endif
