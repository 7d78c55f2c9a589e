/* A profile as profile.proto: its columns, samples and labels. */
#include "profile/pprof/pprof_write.h"

#include <stdlib.h>
#include <string.h>

#include "profile/pprof/pprof.h"
#include "profile/pprof/proto.h"

#define NATIVE (1u << METRIC_MALLOC | 1u << METRIC_LIVE)

/* The columns: for each metric there is, by count, by total, or both, as Go's own profiles have them.
 * Those that another metric has too give way where a recording has both. */
static const struct column {
	enum metric metric;
	bool total;
	const char *type, *other_type;
	uint32_t others;
} all_columns[] = {
	{ METRIC_CPU, false, "samples", NULL, 0 },
	{ METRIC_CPU, true, "cpu", NULL, 0 },
	{ METRIC_WALL, false, "samples", "wall_samples", 1u << METRIC_CPU },
	{ METRIC_WALL, true, "wall", NULL, 0 },
	{ METRIC_MALLOC, false, "alloc_objects", NULL, 0 },
	{ METRIC_MALLOC, true, "alloc_space", NULL, 0 },
	{ METRIC_OBJECT, false, "alloc_objects", "java_alloc_objects", NATIVE },
	{ METRIC_OBJECT, true, "alloc_space", "java_alloc_space", NATIVE },
	{ METRIC_LIVE, false, "inuse_objects", NULL, 0 },
	{ METRIC_LIVE, true, "inuse_space", NULL, 0 },
	{ METRIC_LIVE_OBJECT, false, "inuse_objects", "java_inuse_objects", NATIVE },
	{ METRIC_LIVE_OBJECT, true, "inuse_space", "java_inuse_space", NATIVE },
	{ METRIC_LOCK, false, "contentions", NULL, 0 },
	{ METRIC_LOCK, true, "delay", NULL, 0 },
};

#define COLUMNS (sizeof(all_columns) / sizeof(all_columns[0]))

struct columns {
	struct column list[COLUMNS];
	size_t count;
};

static void choose_columns(struct columns *columns, const struct profile *p)
{
	uint32_t there = 0, totals = 0;

	columns->count = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		there |= 1u << p->samples[i].metric;
		totals |= p->samples[i].total > 0 ? 1u << p->samples[i].metric : 0;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		struct column column = all_columns[i];

		if (!(there & 1u << column.metric))
			continue;
		/* Time, where the interval is known. */
		if (column.total && column.metric <= METRIC_WALL && !(totals & 1u << column.metric))
			continue;
		if (there & column.others)
			column.type = column.other_type;
		columns->list[columns->count++] = column;
	}
}

static void write_types(struct pprof *out, const struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = &columns->list[i];
		const char *unit =
			column->total ? metric_texts[column->metric].total_unit : "count";

		pprof_note(out, proto_int(&out->message, 1, pprof_string(out, column->type)));
		pprof_note(out, proto_int(&out->message, 2, pprof_string(out, unit)));
		pprof_flush(out, PPROF_SAMPLE_TYPE);
	}
}

static void add_label(struct pprof *out, const char *key, const char *value)
{
	struct buf label = BUF_INIT(64);

	pprof_note(out, proto_int(&label, 1, pprof_string(out, key)));
	pprof_note(out, proto_int(&label, 2, pprof_string(out, value)));
	pprof_note(out, proto_message(&out->message, 3, &label));
	buf_free(&label);
}

static void add_labels(struct pprof *out, const struct sample *s)
{
	const struct thread_key *key = intern_key(&out->profile->threads, s->thread);
	char name[256], *lines, *line, *rest, *equals;

	if (s->thread) {
		profile_thread_name(out->profile, s->thread, name, sizeof(name));
		add_label(out, "thread", name);
	}
	lines = strdup(intern_text(&out->profile->names, key->labels));
	for (line = lines ? strtok_r(lines, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		equals = strchr(line, '=');
		if (!equals)
			continue;
		*equals = '\0';
		add_label(out, line, equals + 1);
	}
	free(lines);
}

static void add_stack(struct pprof *out, uint32_t stack)
{
	const uint32_t *frames = intern_key(&out->profile->stacks, stack);
	uint32_t depth = intern_length(&out->profile->stacks, stack) / sizeof(*frames);

	buf_reset(&out->inner);
	if (!depth)
		pprof_note(out, proto_varint(&out->inner, pprof_location(out, 0)));
	/* Those that a frame is inlined into belong to its location. */
	for (uint32_t i = 0; i < depth; i++)
		if (!i || profile_frame(out->profile, frames[i - 1])->caller != frames[i])
			pprof_note(out, proto_varint(&out->inner, pprof_location(out, frames[i])));
	pprof_note(out, proto_message(&out->message, 1, &out->inner));
}

static void add_values(struct pprof *out, const struct columns *columns, const struct sample *s)
{
	buf_reset(&out->inner);
	for (size_t i = 0; i < columns->count; i++) {
		double value = columns->list[i].total ? s->total : s->count;
		bool mine = columns->list[i].metric == (enum metric)s->metric;

		pprof_note(out,
			   proto_varint(&out->inner, mine ? (uint64_t)(int64_t)(value + 0.5) : 0));
	}
	pprof_note(out, proto_message(&out->message, 2, &out->inner));
}

static void write_sample(struct pprof *out, const struct columns *columns, const struct sample *s)
{
	add_stack(out, s->stack);
	add_values(out, columns, s);
	add_labels(out, s);
	pprof_flush(out, PPROF_SAMPLE);
}

/* What `go tool pprof` opens with: the first metric's time or bytes, but what lives before what was
 * allocated, as in Go's own. */
static const struct column *default_column(const struct columns *columns)
{
	const struct column *chosen = NULL;

	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = &columns->list[i];

		if (!chosen || (!chosen->total && chosen->metric == column->metric) ||
		    (chosen->metric == METRIC_MALLOC && column->metric == METRIC_LIVE))
			chosen = column;
	}
	return chosen;
}

/* The period and what it is counted in: time, bytes of memory, or each event. */
static void write_period(struct pprof *out, const struct column *column)
{
	bool memory = metric_is_memory(column->metric);
	const char *type = memory ? "space" : column->type,
		   *unit = memory ? "bytes" : "nanoseconds";
	int64_t period = out->profile->periods[column->metric];

	if (column->metric == METRIC_LOCK) {
		type = "contentions";
		unit = "count";
		period = 1;
	}
	if (period <= 0)
		return;
	buf_reset(&out->message);
	pprof_note(out, proto_int(&out->message, 1, pprof_string(out, type)));
	pprof_note(out, proto_int(&out->message, 2, pprof_string(out, unit)));
	pprof_flush(out, PPROF_PERIOD_TYPE);
	pprof_number(out, PPROF_PERIOD, period);
}

static void write_all(struct pprof *out)
{
	const struct profile *p = out->profile;
	const struct column *opens;
	struct columns columns;
	int64_t comment, type;

	choose_columns(&columns, p);
	write_types(out, &columns);
	pprof_number_programs(out);
	for (uint32_t i = 0; i < p->count && !out->err; i++)
		write_sample(out, &columns, &p->samples[i]);
	pprof_write_places(out);
	comment = pprof_string(out, "asprof-agent " ASPROF_AGENT_VERSION);
	opens = default_column(&columns);
	type = opens ? pprof_string(out, opens->type) : 0;
	if (opens)
		write_period(out, opens);
	pprof_write_strings(out);
	if (p->start_ns <= p->end_ns) {
		pprof_number(out, PPROF_TIME_NS, p->start_ns);
		pprof_number(out, PPROF_DURATION_NS, p->end_ns - p->start_ns);
	}
	pprof_number(out, PPROF_COMMENT, comment);
	pprof_number(out, PPROF_DEFAULT_TYPE, type);
}

int pprof_write(FILE *file, const struct profile *profile, const struct libraries *libraries)
{
	struct pprof out;

	if (!pprof_open(&out, file, profile, libraries))
		write_all(&out);
	return pprof_close(&out);
}
