/* Columns of a profile, for formats with several value types (pprof, OTLP): for each metric its
 * count, its total, or both, with the type names of Go's own profiles. */
#ifndef PROFILE_AGGREGATE_COLUMNS_H
#define PROFILE_AGGREGATE_COLUMNS_H

#include "profile/aggregate/profile.h"

struct column {
	enum metric metric;
	bool total;
	const char *type, *other_type; /* other_type is used if a metric of `others` exists too */
	uint32_t others;               /* mask of metrics */
	const char *pyroscope_type;    /* type name for Pyroscope; NULL: `type` */
};

#define COLUMNS_MAX 14

struct columns {
	struct column list[COLUMNS_MAX];
	size_t count;
};

/* Set COLUMNS to the columns of PROFILE's samples whose metrics are in the mask METRICS. */
void columns_choose(struct columns *columns, const struct profile *profile, uint32_t metrics);

/* "count", "nanoseconds", "bytes". */
const char *column_unit(const struct column *column);

/* Returns SAMPLE's value, rounded; 0 if it is of another metric. */
int64_t column_value(const struct column *column, const struct sample *sample);

/* Returns the sampling period of COLUMN's metric; 0 if unknown. *TYPE and *UNIT say what it counts:
 * time, bytes of memory, or events. */
int64_t column_period(const struct profile *profile, const struct column *column, const char **type,
		      const char **unit);

#endif
