/* Converts a sample's context to JFR. */
#include "engine/collect/sample_context.h"

#include <stdbool.h>
#include <string.h>

#include "core/buf.h"
#include "engine/context/contexts.h"

/* Attribute names are longer than their numbers. */
#define TEXT_MAX (16u << 10)

struct text {
	struct buf lines;
	bool failed;
};

static void text_append(struct text *text, const char *bytes, size_t length, bool is_key)
{
	size_t start = text->lines.length;

	text->failed |= buf_append(&text->lines, bytes, length) != 0;
	for (size_t i = start; i < text->lines.length; i++) {
		uint8_t *c = &text->lines.data[i];

		if (*c < ' ' || *c == 0x7f)
			*c = ' ';
		else if (is_key && *c == '=')
			*c = '_';
	}
}

static void text_append_line(struct text *text, const char *key, size_t key_length,
			     const char *value, size_t length)
{
	text_append(text, key, key_length, true);
	text->failed |= buf_append(&text->lines, "=", 1) != 0;
	text_append(text, value, length, false);
	text->failed |= buf_append(&text->lines, "\n", 1) != 0;
}

/* True when the labels in LABELS, SIZE bytes, contain KEY. */
static bool has_label(const char *labels, size_t size, const char *key)
{
	for (size_t at = 0; at < size;) {
		const char *name = labels + at, *value = name + strlen(name) + 1;

		if (!strcmp(name, key))
			return true;
		at = (size_t)(value + strlen(value) + 1 - labels);
	}
	return false;
}

static void text_append_labels(struct text *text, const char *labels, size_t size)
{
	for (size_t at = 0; at < size;) {
		const char *name = labels + at, *value = name + strlen(name) + 1;

		text_append_line(text, name, strlen(name), value, strlen(value));
		at = (size_t)(value + strlen(value) + 1 - labels);
	}
}

/* Set *ENTRY to the entry at *AT of the SIZE bytes of ATTRIBUTES, and move *AT. Returns false when
 * no whole entry is left. */
static bool attribute_next(const uint8_t *attributes, size_t size, size_t *at,
			   const uint8_t **entry)
{
	if (size - *at < 2 || attributes[*at + 1] > size - *at - 2)
		return false;
	*entry = attributes + *at;
	*at += 2u + attributes[*at + 1];
	return true;
}

/* True when a later entry has the same NUMBER. Of several entries the last one counts. */
static bool attribute_is_repeated(const uint8_t *attributes, size_t size, size_t at, uint8_t number)
{
	const uint8_t *entry;

	while (attribute_next(attributes, size, &at, &entry))
		if (entry[0] == number)
			return true;
	return false;
}

static void text_append_attributes(struct text *text, const struct context_record *record)
{
	const uint8_t *attributes = record->bytes + record->labels, *entry;
	size_t at = 0, size = record->attributes;
	const char *key;

	while (attribute_next(attributes, size, &at, &entry)) {
		if (!entry[1] || attribute_is_repeated(attributes, size, at, entry[0]))
			continue;
		key = contexts_attribute_name(entry[0]);
		/* A label of the thread takes precedence over an attribute. */
		if (key && *key && !has_label((const char *)record->bytes, record->labels, key))
			text_append_line(text, key, strlen(key), (const char *)entry + 2, entry[1]);
	}
}

uint32_t sample_context_id(struct jfr_writer *jfr, const struct context_record *record)
{
	struct text text = { .lines = BUF_INIT(TEXT_MAX) };
	struct jfr_context context;
	uint32_t id;

	if (!record)
		return 0;
	text_append_labels(&text, (const char *)record->bytes, record->labels);
	text_append_attributes(&text, record);
	if (text.failed)
		buf_reset(&text.lines);
	memcpy(context.trace_id, record->trace_id, sizeof(context.trace_id));
	memcpy(context.span_id, record->span_id, sizeof(context.span_id));
	context.labels = (const char *)text.lines.data;
	context.length = text.lines.length;
	id = jfr_context(jfr, &context);
	buf_free(&text.lines);
	return id;
}
