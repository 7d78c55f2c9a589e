/* Columns of a profile, for formats with several value types. */
#include "profile/aggregate/columns.h"

#define NATIVE (1u << METRIC_MALLOC | 1u << METRIC_LIVE)

static const struct column all_columns[] = {
	{ METRIC_CPU, false, "samples", NULL, 0, NULL },
	{ METRIC_CPU, true, "cpu", NULL, 0, NULL },
	{ METRIC_WALL, false, "samples", "wall_samples", 1u << METRIC_CPU, NULL },
	{ METRIC_WALL, true, "wall", NULL, 0, NULL },
	{ METRIC_MALLOC, false, "alloc_objects", NULL, 0, NULL },
	{ METRIC_MALLOC, true, "alloc_space", NULL, 0, NULL },
	{ METRIC_OBJECT, false, "alloc_objects", "java_alloc_objects", NATIVE, NULL },
	{ METRIC_OBJECT, true, "alloc_space", "java_alloc_space", NATIVE, NULL },
	{ METRIC_LIVE, false, "inuse_objects", NULL, 0, NULL },
	{ METRIC_LIVE, true, "inuse_space", NULL, 0, NULL },
	{ METRIC_LIVE_OBJECT, false, "inuse_objects", "java_inuse_objects", NATIVE, NULL },
	{ METRIC_LIVE_OBJECT, true, "inuse_space", "java_inuse_space", NATIVE, NULL },
	{ METRIC_LOCK, false, "contentions", NULL, 0, "mutex_count" },
	{ METRIC_LOCK, true, "delay", NULL, 0, "mutex_duration" },
};

_Static_assert(sizeof(all_columns) / sizeof(all_columns[0]) == COLUMNS_MAX, "columns");

void columns_choose(struct columns *columns, const struct profile *p, uint32_t metrics)
{
	uint32_t there = 0, totals = 0;

	columns->count = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		if (!(metrics & 1u << p->samples[i].metric))
			continue;
		there |= 1u << p->samples[i].metric;
		totals |= p->samples[i].total > 0 ? 1u << p->samples[i].metric : 0;
	}
	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		struct column column = all_columns[i];

		if (!(there & 1u << column.metric))
			continue;
		/* Time needs a known sampling interval. */
		if (column.total && column.metric <= METRIC_WALL && !(totals & 1u << column.metric))
			continue;
		if (there & column.others)
			column.type = column.other_type;
		columns->list[columns->count++] = column;
	}
}

const char *column_unit(const struct column *column)
{
	return column->total ? metric_texts[column->metric].total_unit : "count";
}

int64_t column_value(const struct column *column, const struct sample *sample)
{
	double value = column->total ? sample->total : sample->count;

	return column->metric == (enum metric)sample->metric ? (int64_t)(value + 0.5) : 0;
}

int64_t column_period(const struct profile *profile, const struct column *column, const char **type,
		      const char **unit)
{
	bool memory = metric_is_memory(column->metric);

	*type = memory ? "space" : column->type;
	*unit = memory ? "bytes" : "nanoseconds";
	if (column->metric != METRIC_LOCK)
		return profile->periods[column->metric];
	*type = "contentions";
	*unit = "count";
	return 1;
}
