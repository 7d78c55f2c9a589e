/* A profile as OTLP has it: its resource, and for each column a profile with its samples. */
#include "profile/otlp/otlp_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/columns.h"
#include "profile/basics/text.h"
#include "profile/encode/proto.h"
#include "profile/otlp/otlp_dictionary.h"

static void put_int(struct otlp *out, struct buf *to, unsigned field, int64_t value)
{
	otlp_note(out, proto_int(to, field, value));
}

/* A string that protocol buffers take: UTF-8. */
static char *clean(struct otlp *out, const char *text, size_t max)
{
	char *copy = strndup(text, max);

	if (!copy)
		otlp_note(out, -ENOMEM);
	else
		text_clean_string(copy);
	return copy;
}

#define ATTRIBUTE_MAX 4096

static void write_resource(struct otlp *out, struct buf *to)
{
	struct buf resource = BUF_INIT(to->max), item = BUF_INIT(to->max);

	for (size_t i = 0; i < out->message->resource_count; i++) {
		const struct otlp_attribute *attribute = &out->message->resource[i];
		char *key = clean(out, attribute->key, ATTRIBUTE_MAX);
		char *text = attribute->text ? clean(out, attribute->text, ATTRIBUTE_MAX) : NULL;

		buf_reset(&item);
		otlp_note(out, proto_string(&item, 1, key ? key : ""));
		otlp_any(out, &item, text, attribute->number);
		otlp_note(out, proto_message(&resource, 1, &item));
		free(key);
		free(text);
	}
	otlp_note(out, proto_message(to, 1, &resource));
	buf_free(&resource);
	buf_free(&item);
}

static void write_scope(struct otlp *out, struct buf *to)
{
	struct buf scope = BUF_INIT(4096);

	otlp_note(out, proto_string(&scope, 1, "asprof-agent"));
	otlp_note(out, proto_string(&scope, 2, ASPROF_AGENT_VERSION));
	otlp_note(out, proto_message(to, 1, &scope));
	buf_free(&scope);
}

static void write_type(struct otlp *out, struct buf *to, unsigned field, const char *type,
		       const char *unit)
{
	struct buf value = BUF_INIT(64);

	put_int(out, &value, 1, otlp_string(out, type));
	put_int(out, &value, 2, otlp_string(out, unit));
	otlp_note(out, proto_message(to, field, &value));
	buf_free(&value);
}

static void put_attribute(struct otlp *out, struct buf *indices, const char *key, const char *text,
			  int64_t number)
{
	otlp_note(out, proto_varint(indices, (uint64_t)otlp_attribute(out, key, text, number)));
}

/* The bytes of what TEXT has in hexadecimal, SIZE of them; false where it has others. */
static bool read_id(const char *text, uint8_t *id, size_t size)
{
	for (size_t i = 0; i < 2 * size; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0)
			return false;
		id[i / 2] = (uint8_t)(i & 1 ? id[i / 2] << 4 | digit : digit);
	}
	return !text[2 * size];
}

/* What a context says: ids for the link, the rest as attributes. */
struct told {
	uint8_t trace_id[16], span_id[8];
	bool traced, in_span;
};

/* LINE is changed. */
static void take_line(struct otlp *out, struct buf *indices, char *line, struct told *told)
{
	char *equals = strchr(line, '=');

	if (!equals)
		return;
	*equals++ = '\0';
	if (!strcmp(line, "trace_id") && read_id(equals, told->trace_id, sizeof(told->trace_id)))
		told->traced = true;
	else if (!strcmp(line, "span_id") && read_id(equals, told->span_id, sizeof(told->span_id)))
		told->in_span = true;
	else if (*line && strcmp(line, "thread.id") && strcmp(line, "thread.name"))
		put_attribute(out, indices, line, equals, 0);
}

static void write_context(struct otlp *out, struct buf *indices, struct told *told,
			  uint32_t context)
{
	const char *lines = intern_text(&out->message->profile->names, context);
	char *copy, *line, *rest;

	*told = (struct told){ 0 };
	if (!context)
		return;
	copy = strdup(lines);
	if (!copy)
		otlp_note(out, -ENOMEM);
	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		take_line(out, indices, line, told);
	free(copy);
}

/* The thread's number and name, where it has them, and what it worked on; then the link to a span. */
static void write_attributes(struct otlp *out, struct buf *sample, const struct sample *s)
{
	const struct profile *profile = out->message->profile;
	const struct thread_key *key = intern_key(&profile->threads, s->thread);
	struct buf indices = BUF_INIT(sample->max);
	struct told told;

	if (s->thread && key->tid)
		put_attribute(out, &indices, "thread.id", NULL, key->tid);
	if (s->thread && key->name)
		put_attribute(out, &indices, "thread.name", intern_text(&profile->names, key->name),
			      0);
	write_context(out, &indices, &told, s->context);
	if (indices.length)
		otlp_note(out, proto_message(sample, 2, &indices));
	if (told.traced && told.in_span)
		put_int(out, sample, 3, otlp_link(out, told.trace_id, told.span_id));
	buf_free(&indices);
}

static void write_samples(struct otlp *out, struct buf *to, const struct column *column)
{
	const struct otlp_message *message = out->message;
	struct buf sample = BUF_INIT(to->max), value = BUF_INIT(16);

	for (uint32_t i = message->from; i < message->to && !out->err; i++) {
		const struct sample *s = &message->profile->samples[i];

		if ((enum metric)s->metric != column->metric)
			continue;
		buf_reset(&sample);
		buf_reset(&value);
		put_int(out, &sample, 1, otlp_stack(out, s->stack));
		write_attributes(out, &sample, s);
		otlp_note(out, proto_varint(&value, (uint64_t)column_value(column, s)));
		otlp_note(out, proto_message(&sample, 4, &value));
		otlp_note(out, proto_message(to, 2, &sample));
	}
	buf_free(&sample);
	buf_free(&value);
}

static void write_profile(struct otlp *out, struct buf *to, const struct column *column,
			  uint8_t number)
{
	const struct otlp_message *message = out->message;
	struct buf profile = BUF_INIT(to->max);
	uint8_t id[OTLP_ID_SIZE];
	const char *type, *unit;
	int64_t period = column_period(message->profile, column, &type, &unit);

	write_type(out, &profile, 1, column->type, column_unit(column));
	write_samples(out, &profile, column);
	otlp_note(out, proto_fixed64(&profile, 3, (uint64_t)message->start_ns));
	put_int(out, &profile, 4, message->end_ns - message->start_ns);
	if (period > 0) {
		write_type(out, &profile, 5, type, unit);
		put_int(out, &profile, 6, period);
	}
	memcpy(id, message->id, sizeof(id));
	id[OTLP_ID_SIZE - 2] = number;
	id[OTLP_ID_SIZE - 1] = 1; /* never all zeroes */
	otlp_note(out, proto_bytes(&profile, 7, id, sizeof(id)));
	otlp_note(out, proto_message(to, 2, &profile));
	buf_free(&profile);
}

static bool has_samples(const struct otlp_message *message, enum metric metric)
{
	for (uint32_t i = message->from; i < message->to; i++)
		if ((enum metric)message->profile->samples[i].metric == metric)
			return true;
	return false;
}

/* Time tells the number of samples too, by the period. */
static bool is_wanted(const struct columns *columns, const struct column *column)
{
	if (column->metric > METRIC_WALL || column->total)
		return true;
	for (size_t i = 0; i < columns->count; i++)
		if (columns->list[i].metric == column->metric && columns->list[i].total)
			return false;
	return true;
}

int otlp_write(struct buf *to, const struct otlp_message *message)
{
	struct buf resource = BUF_INIT(to->max), scope = BUF_INIT(to->max),
		   dictionary = BUF_INIT(to->max);
	struct columns columns;
	struct otlp out;

	if (message->from >= message->to)
		return -ENODATA;
	otlp_open(&out, message);
	columns_choose(&columns, message->profile, UINT32_MAX);
	write_resource(&out, &resource);
	write_scope(&out, &scope);
	for (size_t i = 0; i < columns.count; i++)
		if (is_wanted(&columns, &columns.list[i]) &&
		    has_samples(message, columns.list[i].metric))
			write_profile(&out, &scope, &columns.list[i], (uint8_t)(i + 1));
	otlp_note(&out, proto_message(&resource, 2, &scope));
	otlp_note(&out, proto_message(to, 1, &resource));
	otlp_write_dictionary(&out, &dictionary);
	otlp_note(&out, proto_message(to, 2, &dictionary));
	buf_free(&resource);
	buf_free(&scope);
	buf_free(&dictionary);
	return otlp_close(&out);
}
