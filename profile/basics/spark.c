/* Samples over time, for each process. */
#include "profile/basics/spark.h"

#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"

static struct spark *sparks_get(struct sparks *s, const char *process)
{
	uint32_t id = intern_string(&s->processes, process);

	if (!id || array_reserve(&s->list, &s->capacity, id, sizeof(*s->list)))
		return NULL;
	return &s->list[id];
}

bool sparks_add(struct sparks *s, const char *process, int64_t time_ns, uint64_t count)
{
	double length = (double)s->end_ns - (double)s->start_ns;
	double at = length > 0 ? ((double)time_ns - (double)s->start_ns) / length : 0;
	struct spark *spark;

	if (!(at >= 0 && at <= 1))
		return true;
	spark = sparks_get(s, process);
	if (!spark)
		return false;
	spark->samples += count;
	spark->counts[at < 1 ? (unsigned)(at * SPARK_COLUMNS) : SPARK_COLUMNS - 1] += count;
	return true;
}

bool sparks_merge(struct sparks *into, const struct sparks *from)
{
	for (uint32_t id = 1; id <= from->processes.count; id++) {
		struct spark *spark = sparks_get(into, intern_text(&from->processes, id));

		if (!spark)
			return false;
		spark->samples += from->list[id].samples;
		for (unsigned i = 0; i < SPARK_COLUMNS; i++)
			spark->counts[i] += from->list[id].counts[i];
	}
	return true;
}

void sparks_free(struct sparks *s)
{
	intern_free(&s->processes);
	free(s->list);
	s->list = NULL;
	s->capacity = 0;
}

void spark_format(char text[SPARK_TEXT], const uint64_t counts[SPARK_COLUMNS], uint64_t most)
{
	/* From U+2581, an eighth of a block, to U+2588. */
	static const char blocks[8][4] = { "\u2581", "\u2582", "\u2583", "\u2584",
					   "\u2585", "\u2586", "\u2587", "\u2588" };

	*text = '\0';
	for (unsigned i = 0; i < SPARK_COLUMNS; i++) {
		double share = most ? (double)counts[i] / (double)most : 0;
		unsigned level = share < 1 ? (unsigned)(share * 8) : 7;

		text = stpcpy(text, counts[i] ? blocks[level] : " ");
	}
}
