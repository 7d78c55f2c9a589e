/* Writer of OTLP profiles: the resource, and for each column a profile with its samples. */
#include "profile/otlp/otlp_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/hex.h"
#include "profile/aggregate/columns.h"
#include "profile/basics/text.h"
#include "profile/encode/proto.h"
#include "profile/otlp/otlp_parts.h"

/* Returns a copy of TEXT, at most MAX bytes, as valid UTF-8, which protocol buffers require; NULL
 * when out of memory. Release with free(). */
static char *otlp_sanitize(struct otlp *out, const char *text, size_t max)
{
	char *copy = strndup(text, max);

	if (!copy)
		otlp_set_error(out, -ENOMEM);
	else
		text_clean_string(copy);
	return copy;
}

#define ATTRIBUTE_MAX 4096

void otlp_append_resource(struct otlp *out, struct buf *to)
{
	struct buf resource = BUF_INIT(to->max), item = BUF_INIT(to->max);

	for (size_t i = 0; i < out->message->resource_count; i++) {
		const struct otlp_attribute *attribute = &out->message->resource[i];
		char *key = otlp_sanitize(out, attribute->key, ATTRIBUTE_MAX);
		char *text =
			attribute->text ? otlp_sanitize(out, attribute->text, ATTRIBUTE_MAX) : NULL;

		buf_reset(&item);
		otlp_set_error(out, proto_string(&item, 1, key ? key : ""));
		otlp_append_any_value(out, &item, text, attribute->number);
		otlp_set_error(out, proto_message(&resource, 1, &item));
		free(key);
		free(text);
	}
	otlp_set_error(out, proto_message(to, 1, &resource));
	buf_free(&resource);
	buf_free(&item);
}

void otlp_append_scope(struct otlp *out, struct buf *to)
{
	struct buf scope = BUF_INIT(4096);

	otlp_set_error(out, proto_string(&scope, 1, "asprof-agent"));
	otlp_set_error(out, proto_string(&scope, 2, ASPROF_AGENT_VERSION));
	otlp_set_error(out, proto_message(to, 1, &scope));
	buf_free(&scope);
}

void otlp_append_value_type(struct otlp *out, struct buf *to, unsigned field, const char *type,
			    const char *unit)
{
	struct buf value = BUF_INIT(64);

	otlp_append_int(out, &value, 1, otlp_add_string(out, type));
	otlp_append_int(out, &value, 2, otlp_add_string(out, unit));
	otlp_set_error(out, proto_message(to, field, &value));
	buf_free(&value);
}

static void otlp_append_attribute_index(struct otlp *out, struct buf *indices, const char *key,
					const char *text, int64_t number)
{
	otlp_set_error(out,
		       proto_varint(indices, (uint64_t)otlp_add_attribute(out, key, text, number)));
}

/* IDs of a context's trace and span; its other labels are attributes. */
struct span_context {
	uint8_t trace_id[16], span_id[8];
	bool has_trace_id, has_span_id;
};

/* Parse a line of a context, in place: IDs go to SPAN, other labels to INDICES as attributes. */
static void span_context_parse_line(struct otlp *out, struct buf *indices, char *line,
				    struct span_context *span)
{
	char *equals = strchr(line, '=');

	if (!equals)
		return;
	*equals++ = '\0';
	if (!strcmp(line, "trace_id") &&
	    hex_decode(equals, strlen(equals), span->trace_id, sizeof(span->trace_id)))
		span->has_trace_id = true;
	else if (!strcmp(line, "span_id") &&
		 hex_decode(equals, strlen(equals), span->span_id, sizeof(span->span_id)))
		span->has_span_id = true;
	else if (*line && strcmp(line, "thread.id") && strcmp(line, "thread.name"))
		otlp_append_attribute_index(out, indices, line, equals, 0);
}

static void otlp_append_context(struct otlp *out, struct buf *indices, struct span_context *span,
				uint32_t context)
{
	const char *lines = intern_text(&out->message->profile->names, context);
	char *copy, *line, *rest;

	*span = (struct span_context){ 0 };
	if (!context)
		return;
	copy = strdup(lines);
	if (!copy)
		otlp_set_error(out, -ENOMEM);
	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		span_context_parse_line(out, indices, line, span);
	free(copy);
}

static void otlp_append_wait(struct otlp *out, struct buf *indices, uint32_t id)
{
	const struct wait *wait = profile_wait(out->message->profile, id);
	const char *on = intern_text(&out->message->profile->names, wait->on);

	if (wait->state)
		otlp_append_attribute_index(out, indices, "thread.state",
					    jfr_wait_states[wait->state], 0);
	if (wait->cause)
		otlp_append_attribute_index(out, indices, "wait.cause",
					    jfr_wait_causes[wait->cause], 0);
	if (*on)
		otlp_append_attribute_index(out, indices, "wait.on", on, 0);
}

void otlp_append_sample_attributes(struct otlp *out, struct buf *sample, const struct sample *s)
{
	const struct profile *profile = out->message->profile;
	const struct thread_key *key = intern_key(&profile->threads, s->thread);
	struct buf indices = BUF_INIT(sample->max);
	struct span_context span;

	if (s->thread && key->tid)
		otlp_append_attribute_index(out, &indices, "thread.id", NULL, key->tid);
	if (s->thread && key->name)
		otlp_append_attribute_index(out, &indices, "thread.name",
					    intern_text(&profile->names, key->name), 0);
	otlp_append_wait(out, &indices, s->wait);
	otlp_append_context(out, &indices, &span, s->context);
	if (indices.length)
		otlp_set_error(out, proto_message(sample, 2, &indices));
	if (span.has_trace_id && span.has_span_id)
		otlp_append_int(out, sample, 3, otlp_add_link(out, span.trace_id, span.span_id));
	buf_free(&indices);
}

static void otlp_append_samples(struct otlp *out, struct buf *to, const struct column *column)
{
	const struct otlp_message *message = out->message;
	struct buf sample = BUF_INIT(to->max), value = BUF_INIT(16);

	for (uint32_t i = message->from; i < message->to && !out->err; i++) {
		const struct sample *s = &message->profile->samples[i];

		if ((enum metric)s->metric != column->metric)
			continue;
		buf_reset(&sample);
		buf_reset(&value);
		otlp_append_int(out, &sample, 1, otlp_add_stack(out, s->stack));
		otlp_append_sample_attributes(out, &sample, s);
		otlp_set_error(out, proto_varint(&value, (uint64_t)column_value(column, s)));
		otlp_set_error(out, proto_message(&sample, 4, &value));
		otlp_set_error(out, proto_message(to, 2, &sample));
	}
	buf_free(&sample);
	buf_free(&value);
}

static void otlp_append_profile(struct otlp *out, struct buf *to, const struct column *column,
				uint8_t number)
{
	const struct otlp_message *message = out->message;
	struct buf profile = BUF_INIT(to->max);
	uint8_t id[OTLP_ID_SIZE];
	const char *type, *unit;
	int64_t period = column_period(message->profile, column, &type, &unit);

	otlp_append_value_type(out, &profile, 1, column->type, column_unit(column));
	otlp_append_samples(out, &profile, column);
	otlp_set_error(out, proto_fixed64(&profile, 3, (uint64_t)message->start_ns));
	otlp_append_int(out, &profile, 4, message->end_ns - message->start_ns);
	if (period > 0) {
		otlp_append_value_type(out, &profile, 5, type, unit);
		otlp_append_int(out, &profile, 6, period);
	}
	memcpy(id, message->id, sizeof(id));
	id[OTLP_ID_SIZE - 2] = number;
	id[OTLP_ID_SIZE - 1] = 1; /* an ID must not be all zeroes */
	otlp_set_error(out, proto_bytes(&profile, 7, id, sizeof(id)));
	otlp_set_error(out, proto_message(to, 2, &profile));
	buf_free(&profile);
}

static bool has_samples(const struct otlp_message *message, enum metric metric)
{
	for (uint32_t i = message->from; i < message->to; i++)
		if ((enum metric)message->profile->samples[i].metric == metric)
			return true;
	return false;
}

bool otlp_column_is_wanted(const struct columns *columns, const struct column *column)
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
	otlp_init(&out, message);
	columns_choose(&columns, message->profile, UINT32_MAX);
	otlp_append_resource(&out, &resource);
	otlp_append_scope(&out, &scope);
	for (size_t i = 0; i < columns.count; i++)
		if (otlp_column_is_wanted(&columns, &columns.list[i]) &&
		    has_samples(message, columns.list[i].metric))
			otlp_append_profile(&out, &scope, &columns.list[i], (uint8_t)(i + 1));
	otlp_set_error(&out, proto_message(&resource, 2, &scope));
	otlp_set_error(&out, proto_message(to, 1, &resource));
	otlp_append_dictionary(&out, &dictionary);
	otlp_set_error(&out, proto_message(to, 2, &dictionary));
	buf_free(&resource);
	buf_free(&scope);
	buf_free(&dictionary);
	return otlp_close(&out);
}
