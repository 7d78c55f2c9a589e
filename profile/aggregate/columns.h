/* What formats of one number for each of several types make of a profile: for each metric that it has, its
 * count, its total, or both, as Go's own profiles have them. */
#ifndef PROFILE_AGGREGATE_COLUMNS_H
#define PROFILE_AGGREGATE_COLUMNS_H

#include "profile/aggregate/profile.h"

struct column {
	enum metric metric;
	bool total;
	const char *type, *other_type; /* OTHER_TYPE where one of OTHERS is there too */
	uint32_t others;
	const char *pyroscope_type; /* as Pyroscope knows it; NULL: likewise */
};

#define COLUMNS_MAX 14

struct columns {
	struct column list[COLUMNS_MAX];
	size_t count;
};

/* Those of PROFILE whose metrics are in the mask METRICS. */
void columns_choose(struct columns *columns, const struct profile *profile, uint32_t metrics);

/* "count", "nanoseconds", "bytes". */
const char *column_unit(const struct column *column);

/* What SAMPLE has there, whole; 0 where it is of another metric. */
int64_t column_value(const struct column *column, const struct sample *sample);

/* How far apart samples of METRIC were taken, 0 where it is not known, and in what that is counted: time,
 * bytes of memory, or each event. */
int64_t column_period(const struct profile *profile, const struct column *column, const char **type,
		      const char **unit);

#endif
