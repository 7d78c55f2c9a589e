/* Integrity checks of a finished chunk. */
#include "core/agent/chunk_check.h"

#include <stdlib.h>
#include <string.h>

#include "core/fd.h"
#include "profile/jfr/jfr_cursor.h"
#include "profile/jfr/jfr_read.h"

/* Maximum bytes of an event's size. */
#define EVENT_SIZE_MAX 9

#define BLOCK (64u << 10)

/* True if the event at AT, counted from OFFSET, ends within LENGTH bytes. */
static bool chunk_has_event(int fd, off_t offset, uint64_t length, uint64_t at)
{
	uint8_t front[EVENT_SIZE_MAX];
	size_t count = length - at < sizeof(front) ? (size_t)(length - at) : sizeof(front);
	struct cursor cursor = { front, front + count, false };
	uint64_t size;

	if (fd_read(fd, front, count, offset + (off_t)at))
		return false;
	size = cursor_varint(&cursor);
	return !cursor.bad && size && size <= length - at;
}

bool chunk_has_structure(int fd, off_t offset, uint64_t length)
{
	uint8_t front[JFR_HEADER_SIZE];
	struct jfr_header header;
	struct jfr_error error;

	return length >= sizeof(front) && !fd_read(fd, front, sizeof(front), offset) &&
	       !jfr_header_read(&header, front, length, 0, &error) && header.size == length &&
	       chunk_has_event(fd, offset, length, header.metadata) &&
	       chunk_has_event(fd, offset, length, header.constants);
}

bool chunk_is_readable(const uint8_t *data, uint64_t length)
{
	struct jfr_header header;
	struct jfr_chunk chunk;
	struct jfr_error error;
	struct jfr_event event;
	struct jfr_scan scan;
	bool is_readable;

	if (jfr_header_read(&header, data, length, 0, &error) || header.size != length ||
	    jfr_chunk_open(&chunk, data, &header))
		return false;
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	while (jfr_scan_next(&scan, &event))
		;
	is_readable = !chunk.error.what;
	jfr_chunk_close(&chunk);
	return is_readable;
}

off_t chunk_find_magic(int fd, off_t from, off_t end)
{
	static const char magic[] = { 'F', 'L', 'R', '\0', 0, 2 };
	uint8_t *block = malloc(BLOCK), *found = NULL;
	size_t length;

	while (block && !found && end - from >= (off_t)sizeof(magic)) {
		length = end - from < BLOCK ? (size_t)(end - from) : BLOCK;
		if (fd_read(fd, block, length, from))
			break;
		found = memmem(block, length, magic, sizeof(magic));
		/* The magic may start in this block and end in the next. */
		from += found ? found - block : (off_t)(length - sizeof(magic) + 1);
	}
	free(block);
	return found ? from : -1;
}
