/* Which finished chunks of a recording are as they were written. */
#include "upload/recover/whole_chunk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent/recording.h"
#include "core/fd.h"
#include "profile/jfr/jfr_read.h"

/* A larger one is believed. */
#define CHUNK_MAX (64u << 20)

/* What a disk writes at once. So many zeros, where it begins, are of none that was written: a chunk has not that many in
 * a row, but in a user's own event. */
#define SECTOR 512

#define BLOCK (64u << 10)

static bool chunk_has_lost_sector(const uint8_t *data, uint64_t length, off_t offset)
{
	static const uint8_t zeros[SECTOR];
	uint64_t at = (SECTOR - (uint64_t)offset % SECTOR) % SECTOR;

	for (; at + SECTOR <= length; at += SECTOR)
		if (!memcmp(data + at, zeros, SECTOR))
			return true;
	return false;
}

static bool chunk_is_readable(const uint8_t *data, uint64_t length)
{
	struct jfr_header header;
	struct jfr_chunk chunk;
	struct jfr_error error;
	struct jfr_event event;
	struct jfr_scan scan;
	bool whole;

	if (jfr_header(&header, data, length, 0, &error) || header.size != length ||
	    jfr_chunk_open(&chunk, data, &header))
		return false;
	jfr_scan(&scan, &chunk, UINT32_MAX);
	while (jfr_scan_next(&scan, &event))
		;
	whole = !chunk.error.what;
	jfr_chunk_close(&chunk);
	return whole;
}

static bool layout_is_complete(int fd, off_t offset, uint64_t length)
{
	uint8_t *data;
	bool whole;

	if (length > CHUNK_MAX)
		return true;
	data = malloc(length);
	if (!data)
		return true;
	whole = !fd_read(fd, data, length, offset) &&
		!chunk_has_lost_sector(data, length, offset) && chunk_is_readable(data, length);
	free(data);
	return whole;
}

/* Where something begins at FROM or behind it that may be a chunk; -1: nowhere. */
static off_t chunk_find_magic(int fd, off_t from, off_t end)
{
	static const char magic[] = { 'F', 'L', 'R', '\0', 0, 2 };
	uint8_t *block = malloc(BLOCK), *found = NULL;
	size_t length;

	while (block && !found && end - from >= (off_t)sizeof(magic)) {
		length = end - from < BLOCK ? (size_t)(end - from) : BLOCK;
		if (fd_read(fd, block, length, from))
			break;
		found = memmem(block, length, magic, sizeof(magic));
		/* It may begin in this one, and end in the next. */
		from += found ? found - block : (off_t)(length - sizeof(magic) + 1);
	}
	free(block);
	return found ? from : -1;
}

off_t whole_chunk_next(int fd, off_t at, off_t end, uint64_t *size)
{
	while (at >= 0 && at < end) {
		if (!recording_chunk(fd, at, end, size) && *size &&
		    layout_is_complete(fd, at, *size))
			return at;
		at = chunk_find_magic(fd, at + 1, end);
	}
	return -1;
}
