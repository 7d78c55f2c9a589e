/* Counts the samples in a recording. A chunk's metadata lists the event types with a stack trace, and each event
 * begins with its size and its type. The file is read in blocks: a chunk may be larger than the agent's memory
 * limit. */
#include "core/agent/samples.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"
#include "profile/jfr/jfr_cursor.h"
#include "profile/jfr/jfr_meta.h"
#include "profile/jfr/jfr_read.h"

#define METADATA_MAX (4u << 20)
#define BLOCK        (32u << 10)

/* Maximum bytes of an event's size and type. */
#define EVENT_HEAD_MAX 20

/* Types are numbered from 1, some hundreds of them; larger numbers are not counted. */
#define TYPES 65536

struct window {
	int fd;
	uint64_t offset, length; /* range of the file in DATA */
	uint64_t end;            /* end of the readable range */
	uint8_t data[BLOCK];
};

static bool type_is_sample(const struct jfr_type *type)
{
	if (!strcmp(type->name, "profiler.Free") ||
	    !strncmp(type->name, "asprof.", strlen("asprof.")))
		return false;
	for (size_t i = 0; i < type->field_count; i++)
		if (!strcmp(type->fields[i].name, "stackTrace"))
			return true;
	return false;
}

/* Return the bytes at OFFSET, up to the size of an event's head; none when they cannot be read. */
static struct cursor window_read(struct window *w, uint64_t offset)
{
	uint64_t length = w->end - offset < EVENT_HEAD_MAX ? w->end - offset : EVENT_HEAD_MAX;
	const uint8_t *at;

	if (offset < w->offset || offset + length > w->offset + w->length) {
		w->offset = offset;
		w->length = w->end - offset < BLOCK ? w->end - offset : BLOCK;
		if (fd_read(w->fd, w->data, w->length, (off_t)offset))
			w->length = length = 0;
	}
	at = w->data + (offset - w->offset);
	return (struct cursor){ at, at + length, false };
}

/* Read the metadata at OFFSET, and set the bit of each counted type in COUNTED. */
static int samples_read_metadata(struct window *w, uint64_t offset, uint8_t *counted)
{
	struct cursor head = window_read(w, offset);
	uint64_t size = cursor_varint(&head);
	struct jfr_chunk chunk = { .header.size = size };
	uint8_t *event;
	int err;

	if (head.bad || size > METADATA_MAX || size > w->end - offset)
		return -EBADMSG;
	event = malloc(size + 1);
	if (!event)
		return -ENOMEM;
	chunk.data = event;
	err = fd_read(w->fd, event, size, (off_t)offset);
	if (!err)
		err = jfr_meta_read(&chunk);
	memset(counted, 0, TYPES / 8);
	for (size_t i = 0; !err && i < chunk.type_count; i++) {
		int64_t id = chunk.types[i].id;

		if (id >= 0 && id < TYPES && type_is_sample(&chunk.types[i]))
			counted[id / 8] |= (uint8_t)(1u << id % 8);
	}
	jfr_meta_free(&chunk);
	free(event);
	return err;
}

static int samples_count_events(struct window *w, uint64_t offset, const uint8_t *counted,
				uint64_t *count)
{
	while (offset < w->end) {
		struct cursor head = window_read(w, offset);
		uint64_t size = cursor_varint(&head), type = cursor_varint(&head);

		if (head.bad || !size || size > w->end - offset)
			return -EBADMSG;
		if (type < TYPES && counted[type / 8] & 1u << type % 8)
			++*count;
		offset += size;
	}
	return 0;
}

static int samples_count_chunk(struct window *w, uint64_t offset, uint64_t end, uint8_t *counted,
			       uint64_t *size, uint64_t *count)
{
	uint8_t front[JFR_HEADER_SIZE];
	struct jfr_header header;
	struct jfr_error error;
	int err = 0;

	if (end - offset >= sizeof(front))
		err = fd_read(w->fd, front, sizeof(front), (off_t)offset);
	if (err)
		return err;
	if (end - offset < sizeof(front) ||
	    jfr_header_read(&header, front, end - offset, 0, &error))
		return -EBADMSG;
	*size = header.size;
	w->end = offset + header.size;
	err = samples_read_metadata(w, offset + header.metadata, counted);
	return err ? err : samples_count_events(w, offset + JFR_HEADER_SIZE, counted, count);
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
		err = samples_count_chunk(window, offset, end, counted, &size, &found);
	free(window);
	free(counted);
	if (!err)
		*count += found;
	return err;
}
