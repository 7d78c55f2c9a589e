/* Counts the samples that a recording holds: a chunk's metadata tells which types of events have a
 * stack trace, and each event begins with its size and its type.
 *
 * Source: JDK, jdk.jfr.internal.consumer (ChunkHeader, MetadataReader, ChunkParser). */
#include "core/agent/samples.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"

#define CHUNK_HEADER 68 /* bytes, before the first event */
#define METADATA_MAX (4u << 20)
#define DEPTH_MAX    16
#define BLOCK        (32u << 10)

/* A size and a type take no more. */
#define EVENT_HEAD 20

/* Types are numbered from 1, some hundreds of them; one from here on is not counted. */
#define TYPES 65536

/* The front of a chunk's header, big-endian. */
struct chunk_front {
	char magic[4]; /* "FLR\0" */
	uint16_t major, minor;
	uint64_t size;
	uint64_t constant_pools;
	uint64_t metadata; /* offset */
};

struct text {
	const uint8_t *bytes;
	uint64_t length;
};

struct metadata {
	const uint8_t *at, *end;
	struct text *texts;
	uint64_t text_count;
	uint8_t *counted; /* a bit for each type that has a stack trace */
};

struct window {
	int fd;
	uint64_t offset, length; /* of what DATA holds */
	uint64_t end;            /* of what may be read */
	uint8_t data[BLOCK];
};

/* Seven bits a byte, the lowest first; the ninth byte has eight. */
static int read_number(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	*out = 0;
	for (unsigned int shift = 0; *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		if (shift == 56) {
			*out |= (uint64_t)byte << shift;
			return 0;
		}
		*out |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return 0;
	}
	return -EBADMSG;
}

static int next(struct metadata *m, uint64_t *out)
{
	return read_number(&m->at, m->end, out);
}

static int read_text(struct metadata *m, struct text *out)
{
	uint8_t encoding;
	uint64_t ignored;
	int err = 0;

	*out = (struct text){ .length = 0 };
	if (m->at == m->end)
		return -EBADMSG;
	encoding = *m->at++;
	if (encoding <= 1) /* none, and an empty one */
		return 0;
	if (encoding < 3 || encoding > 5)
		return -EBADMSG;
	err = next(m, &out->length);
	if (err || out->length > (uint64_t)(m->end - m->at))
		return -EBADMSG;
	out->bytes = m->at;
	if (encoding != 4) { /* UTF-8, Latin-1 */
		m->at += out->length;
		return 0;
	}
	for (uint64_t i = 0; i < out->length && !err; i++) /* characters, each a number */
		err = next(m, &ignored);
	out->length = 0;
	return err;
}

static bool text_is(const struct metadata *m, uint64_t index, const char *what, size_t length)
{
	return index < m->text_count && m->texts[index].length >= length &&
	       !memcmp(m->texts[index].bytes, what, length);
}

static bool is(const struct metadata *m, uint64_t index, const char *what)
{
	return text_is(m, index, what, strlen(what)) && m->texts[index].length == strlen(what);
}

static uint64_t number_of(const struct metadata *m, uint64_t index)
{
	uint64_t number = 0;

	for (uint64_t i = 0; index < m->text_count && i < m->texts[index].length; i++)
		number = number * 10 + (uint64_t)(m->texts[index].bytes[i] - '0');
	return number;
}

/* An element: its name, its attributes, the elements in it. *STACK is set where it is a field for a
 * stack trace. */
static int read_element(struct metadata *m, unsigned int depth, bool *stack)
{
	uint64_t element, attributes, key, value, children, type = 0;
	bool has_stack = false, other = false;
	int err = next(m, &element);

	if (!err)
		err = next(m, &attributes);
	for (uint64_t i = 0; !err && i < attributes; i++) {
		err = next(m, &key);
		if (!err)
			err = next(m, &value);
		if (err)
			break;
		if (is(m, key, "name")) {
			*stack = *stack || (is(m, element, "field") && is(m, value, "stackTrace"));
			other = is(m, value, "profiler.Free") ||
				text_is(m, value, "asprof.", strlen("asprof."));
		} else if (is(m, key, "id")) {
			type = number_of(m, value);
		}
	}
	if (!err)
		err = next(m, &children);
	if (!err && depth == DEPTH_MAX)
		err = -EBADMSG;
	for (uint64_t i = 0; !err && i < children; i++)
		err = read_element(m, depth + 1, &has_stack);
	if (!err && is(m, element, "class") && has_stack && !other && type < TYPES)
		m->counted[type / 8] |= (uint8_t)(1u << type % 8);
	return err;
}

static int read_tree(struct metadata *m)
{
	uint64_t ignored;
	bool stack;
	int err = 0;

	/* Its size, its type, its start and duration, its number. */
	for (int i = 0; i < 5 && !err; i++)
		err = next(m, &ignored);
	if (!err)
		err = next(m, &m->text_count);
	if (err || m->text_count > (uint64_t)(m->end - m->at))
		return -EBADMSG;
	m->texts = calloc(m->text_count + 1, sizeof(*m->texts));
	if (!m->texts)
		return -ENOMEM;
	for (uint64_t i = 0; i < m->text_count && !err; i++)
		err = read_text(m, &m->texts[i]);
	if (!err)
		err = read_element(m, 0, &stack);
	free(m->texts);
	return err;
}

/* The bytes at OFFSET, *LENGTH of them: as many as are asked for, or as there are. NULL where they
 * cannot be read. */
static const uint8_t *look(struct window *w, uint64_t offset, uint64_t *length)
{
	if (*length > w->end - offset)
		*length = w->end - offset;
	if (offset < w->offset || offset + *length > w->offset + w->length) {
		w->offset = offset;
		w->length = w->end - offset < BLOCK ? w->end - offset : BLOCK;
		if (fd_read(w->fd, w->data, w->length, (off_t)offset)) {
			w->length = 0;
			return NULL;
		}
	}
	return w->data + (offset - w->offset);
}

static int read_metadata(struct window *w, uint64_t offset, uint8_t *counted)
{
	uint64_t length = EVENT_HEAD, size;
	const uint8_t *at = look(w, offset, &length), *end = at + length;
	uint8_t *event;
	struct metadata m;
	int err;

	if (!at || read_number(&at, end, &size) || size > METADATA_MAX || size > w->end - offset)
		return -EBADMSG;
	event = malloc(size + 1);
	if (!event)
		return -ENOMEM;
	m = (struct metadata){ .at = event, .end = event + size, .counted = counted };
	err = fd_read(w->fd, event, size, (off_t)offset);
	if (!err)
		err = read_tree(&m);
	free(event);
	return err;
}

static int count_events(struct window *w, uint64_t offset, const uint8_t *counted, uint64_t *count)
{
	while (offset < w->end) {
		uint64_t length = EVENT_HEAD, size, type;
		const uint8_t *at = look(w, offset, &length), *end = at + length;

		if (!at || read_number(&at, end, &size) || read_number(&at, end, &type) || !size ||
		    size > w->end - offset)
			return -EBADMSG;
		if (type < TYPES && counted[type / 8] & 1u << type % 8)
			++*count;
		offset += size;
	}
	return 0;
}

static int count_chunk(struct window *w, uint64_t offset, uint64_t end, uint8_t *counted,
		       uint64_t *size, uint64_t *count)
{
	struct chunk_front front;
	int err;

	if (end - offset < CHUNK_HEADER)
		return -EBADMSG;
	err = fd_read(w->fd, &front, sizeof(front), (off_t)offset);
	if (err)
		return err;
	*size = be64toh(front.size);
	front.metadata = be64toh(front.metadata);
	if (memcmp(front.magic, "FLR", sizeof(front.magic)) || *size < CHUNK_HEADER ||
	    *size > end - offset || front.metadata < CHUNK_HEADER || front.metadata >= *size)
		return -EBADMSG;
	w->end = offset + *size;
	memset(counted, 0, TYPES / 8);
	err = read_metadata(w, offset + front.metadata, counted);
	return err ? err : count_events(w, offset + CHUNK_HEADER, counted, count);
}

int samples_count(const struct report_part *part, uint64_t *count)
{
	uint64_t offset = (uint64_t)part->offset, end = offset + part->length, size, found = 0;
	struct window *window = calloc(1, sizeof(*window));
	uint8_t *counted = malloc(TYPES / 8);
	int err = window && counted ? 0 : -ENOMEM;

	if (!err)
		window->fd = part->fd;
	for (; !err && offset < end; offset += size)
		err = count_chunk(window, offset, end, counted, &size, &found);
	free(window);
	free(counted);
	if (!err)
		*count += found;
	return err;
}
