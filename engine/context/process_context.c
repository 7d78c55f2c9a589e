/* Reader of OpenTelemetry's process context: a header in a mapping of its own, with a pointer to a
 * message of attributes. The program owns all of it, and may change it at any moment. */
#include "engine/context/process_context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/process/proc_file.h"
#include "engine/reading/process_memory.h"

#define KEY_MAP "threadlocal.attribute_key_map"

/* Number of reads while the context is being changed. */
#define TRIES 4

struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published;
	uint64_t payload;
};

/* ---- The message ---- */

struct message {
	const uint8_t *at, *end;
};

/* A field of a message. */
struct field {
	unsigned number;
	struct message inner; /* for bytes, strings and messages; else empty */
};

static bool message_read_varint(struct message *m, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
		uint8_t byte = *m->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static bool message_skip(struct message *m, uint64_t count)
{
	if (count > (uint64_t)(m->end - m->at))
		return false;
	m->at += count;
	return true;
}

static bool message_next_field(struct message *m, struct field *field)
{
	uint64_t tag, value;

	*field = (struct field){ 0 };
	if (m->at == m->end || !message_read_varint(m, &tag))
		return false;
	field->number = (unsigned)(tag >> 3);
	switch (tag & 7) {
	case 0:
		return message_read_varint(m, &value);
	case 1:
		return message_skip(m, 8);
	case 2:
		if (!message_read_varint(m, &value) || value > (uint64_t)(m->end - m->at))
			return false;
		field->inner = (struct message){ m->at, m->at + value };
		return message_skip(m, value);
	case 5:
		return message_skip(m, 4);
	default:
		return false;
	}
}

/* Find the first field NUMBER of MESSAGE that has bytes. */
static bool message_find_field(struct message message, unsigned number, struct message *inner)
{
	struct field field;

	while (message_next_field(&message, &field))
		if (field.number == number && field.inner.at) {
			*inner = field.inner;
			return true;
		}
	return false;
}

static bool is_key_map(struct message attribute)
{
	struct message key;

	return message_find_field(attribute, 1, &key) && key.end - key.at == sizeof(KEY_MAP) - 1 &&
	       !memcmp(key.at, KEY_MAP, sizeof(KEY_MAP) - 1);
}

/* Find the value of the attribute with the names. It is an attribute of a resource, or of a message
 * that contains one, in its first two fields. */
static bool message_find_key_map(struct message message, int depth, struct message *value)
{
	struct field field;

	while (message_next_field(&message, &field)) {
		if (field.number > 2 || !field.inner.at)
			continue;
		if (is_key_map(field.inner))
			return message_find_field(field.inner, 2, value);
		if (depth && message_find_key_map(field.inner, depth - 1, value))
			return true;
	}
	return false;
}

static int process_context_store_keys(struct process_context *context, struct message value)
{
	struct message array, text;
	struct field field;
	size_t count = 0;
	int err = 0;

	buf_reset(&context->keys);
	memset(context->starts, 0, sizeof(context->starts));
	if (!message_find_field(value, 5, &array))
		return 0;
	while (!err && count < 256 && message_next_field(&array, &field)) {
		size_t start = context->keys.length;

		if (field.number != 1)
			continue;
		if (message_find_field(field.inner, 1, &text) &&
		    !memchr(text.at, '\0', (size_t)(text.end - text.at))) {
			err = buf_append(&context->keys, text.at, (size_t)(text.end - text.at));
			if (!err)
				err = buf_append(&context->keys, "", 1);
			context->starts[count] = err ? 0 : (uint16_t)(start + 1);
		}
		count++;
	}
	return err;
}

int process_context_parse(struct process_context *context, const uint8_t *payload, size_t size)
{
	struct message message = { payload, payload + size }, value = { payload, payload };

	message_find_key_map(message, 1, &value);
	return process_context_store_keys(context, value);
}

/* ---- The mapping ---- */

static bool is_header(const struct header *header)
{
	return !memcmp(header->signature, "OTEL_CTX", sizeof(header->signature)) &&
	       (header->version == 1 || header->version == 2) &&
	       header->payload_size < PROCESS_CONTEXT_MAX;
}

/* Returns -EAGAIN while the context is being changed. */
static int process_context_read_once(struct process_context *context)
{
	struct header header, after;
	uint8_t *payload;
	int err = process_memory_read(context->at, &header, sizeof(header));

	if (err)
		return err;
	if (!is_header(&header))
		return -ENOENT;
	if (!header.published)
		return -EAGAIN;
	if (header.published == context->published)
		return 0;
	payload = malloc(header.payload_size + 1);
	if (!payload)
		return -ENOMEM;
	err = process_memory_read((uintptr_t)header.payload, payload, header.payload_size);
	if (!err)
		err = process_memory_read(context->at, &after, sizeof(after));
	if (!err && memcmp(&header, &after, sizeof(after)))
		err = -EAGAIN;
	if (!err)
		err = process_context_parse(context, payload, header.payload_size);
	if (!err)
		context->published = header.published;
	free(payload);
	return err;
}

static int process_context_read(struct process_context *context)
{
	int err = process_context_read_once(context);

	for (int i = 1; i < TRIES && (err == -EAGAIN || err == -EFAULT); i++)
		err = process_context_read_once(context);
	return err;
}

static bool is_context_mapping(const char *line)
{
	return strstr(line, "/memfd:OTEL_CTX") || strstr(line, "[anon_shmem:OTEL_CTX]") ||
	       strstr(line, "[anon:OTEL_CTX]");
}

int process_context_find_in(struct process_context *context, FILE *maps)
{
	unsigned long start;
	char *line = NULL;
	size_t size = 0;
	int err = -ENOENT;

	context->at = 0;
	context->published = 0;
	while (err && getline(&line, &size, maps) > 0) {
		if (!is_context_mapping(line) || sscanf(line, "%lx-", &start) != 1)
			continue;
		context->at = start;
		err = process_context_read(context);
	}
	free(line);
	if (err)
		context->at = 0;
	return err;
}

int process_context_find(struct process_context *context)
{
	FILE *maps = proc_file_open("/proc/self/maps");
	int err;

	if (!maps)
		return -errno;
	err = process_context_find_in(context, maps);
	fclose(maps);
	return err;
}

bool process_context_refresh(struct process_context *context)
{
	int err = context->at ? process_context_read(context) : -ENOENT;

	if (err && err != -EAGAIN)
		context->at = 0;
	return context->at;
}

const char *process_context_attribute_name(const struct process_context *context, uint8_t number)
{
	uint16_t start = context->starts[number];

	return start ? (const char *)context->keys.data + start - 1 : NULL;
}
