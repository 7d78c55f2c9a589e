/* Writer of profiles as profile.proto: columns, samples and labels. */
#include "profile/pprof/pprof_write.h"

#include <errno.h>

#include "profile/aggregate/columns.h"
#include "profile/pprof/pprof.h"
#include "profile/pprof/pprof_labels.h"
#include "profile/encode/proto.h"

/* Pyroscope drops the innermost frames of deeper stacks, but they show where the time is spent. */
#define PYROSCOPE_DEPTH_MAX 1000

static void pprof_write_types(struct pprof *out, const struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = &columns->list[i];

		pprof_append_int(out, &out->message, 1, pprof_add_string(out, column->type));
		pprof_append_int(out, &out->message, 2, pprof_add_string(out, column_unit(column)));
		pprof_write_message(out, PPROF_SAMPLE_TYPE);
	}
}

static void sample_append_stack(struct pprof *out, uint32_t stack)
{
	const uint32_t *frames = intern_key(&out->profile->stacks, stack);
	uint32_t depth = intern_length(&out->profile->stacks, stack) / sizeof(*frames), count = 0;

	buf_reset(&out->inner);
	if (!depth)
		pprof_set_error(out, proto_varint(&out->inner, pprof_add_location(out, 0)));
	/* The location of an inlined frame includes its callers. */
	for (uint32_t i = 0; i < depth; i++) {
		if (i && profile_frame(out->profile, frames[i - 1])->caller == frames[i])
			continue;
		if (out->depth_max && count++ == out->depth_max)
			break;
		pprof_set_error(out, proto_varint(&out->inner, pprof_add_location(out, frames[i])));
	}
	pprof_set_error(out, proto_message(&out->message, 1, &out->inner));
}

static void sample_append_values(struct pprof *out, const struct columns *columns,
				 const struct sample *s)
{
	buf_reset(&out->inner);
	for (size_t i = 0; i < columns->count; i++) {
		int64_t value = column_value(&columns->list[i], s);

		pprof_set_error(out, proto_varint(&out->inner, (uint64_t)value));
	}
	pprof_set_error(out, proto_message(&out->message, 2, &out->inner));
}

static void pprof_write_sample(struct pprof *out, const struct columns *columns,
			       const struct sample *s)
{
	sample_append_stack(out, s->stack);
	sample_append_values(out, columns, s);
	pprof_append_labels(out, s);
	pprof_write_message(out, PPROF_SAMPLE);
}

/* Column that `go tool pprof` shows first: time or bytes of the first metric; live memory has
 * priority over allocated memory, as in Go's own profiles. */
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

static void pprof_write_period(struct pprof *out, const struct column *column)
{
	const char *type, *unit;
	int64_t period = column_period(out->profile, column, &type, &unit);

	if (period <= 0)
		return;
	buf_reset(&out->message);
	pprof_append_int(out, &out->message, 1, pprof_add_string(out, type));
	pprof_append_int(out, &out->message, 2, pprof_add_string(out, unit));
	pprof_write_message(out, PPROF_PERIOD_TYPE);
	pprof_write_number(out, PPROF_PERIOD, period);
}

static bool part_has_sample(const struct pprof_part *part, const struct sample *s)
{
	return part->metrics & 1u << s->metric;
}

static void pprof_write_profile(struct pprof *out, const struct columns *columns,
				const struct pprof_part *part)
{
	const struct profile *p = out->profile;
	int64_t start = part->start_ns ? part->start_ns : p->start_ns;
	int64_t end = part->end_ns ? part->end_ns : p->end_ns;
	const struct column *default_type_column;
	int64_t comment, type;

	pprof_write_types(out, columns);
	if (part->for_pyroscope)
		pprof_select_labels(out, part->metrics);
	pprof_add_program_mapping(out);
	for (uint32_t i = part->from; i < part->to && !out->err; i++)
		if (part_has_sample(part, &p->samples[i]))
			pprof_write_sample(out, columns, &p->samples[i]);
	pprof_write_locations(out);
	comment = pprof_add_string(out, "asprof-agent " ASPROF_AGENT_VERSION);
	default_type_column = default_column(columns);
	type = default_type_column ? pprof_add_string(out, default_type_column->type) : 0;
	if (default_type_column)
		pprof_write_period(out, default_type_column);
	pprof_write_strings(out);
	if (start <= end) {
		pprof_write_number(out, PPROF_TIME_NS, start);
		pprof_write_number(out, PPROF_DURATION_NS, end - start);
	}
	pprof_write_number(out, PPROF_COMMENT, comment);
	pprof_write_number(out, PPROF_DEFAULT_TYPE, type);
}

int pprof_write(FILE *file, const struct profile *profile, const struct libraries *libraries)
{
	struct pprof_part all = { .metrics = UINT32_MAX, .to = profile->count };
	struct columns columns;
	struct pprof out;

	columns_choose(&columns, profile, all.metrics);
	if (!pprof_open(&out, file, NULL, profile, libraries))
		pprof_write_profile(&out, &columns, &all);
	return pprof_close(&out);
}

/* Pyroscope identifies a profile by the names of its types. */
static void columns_rename_for_pyroscope(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		if (columns->list[i].pyroscope_type)
			columns->list[i].type = columns->list[i].pyroscope_type;
}

int pprof_write_part(struct buf *buf, const struct profile *profile,
		     const struct libraries *libraries, const struct pprof_part *part)
{
	struct columns columns;
	struct pprof out;
	uint32_t i;

	for (i = part->from; i < part->to && !part_has_sample(part, &profile->samples[i]); i++)
		;
	if (i >= part->to)
		return -ENODATA;
	columns_choose(&columns, profile, part->metrics);
	if (part->for_pyroscope)
		columns_rename_for_pyroscope(&columns);
	if (!pprof_open(&out, NULL, buf, profile, libraries)) {
		out.depth_max = part->for_pyroscope ? PYROSCOPE_DEPTH_MAX : 0;
		pprof_write_profile(&out, &columns, part);
	}
	return pprof_close(&out);
}
