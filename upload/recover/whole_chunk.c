/* Integrity check of the finished chunks of a recording. */
#include "upload/recover/whole_chunk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent/chunk_check.h"
#include "core/agent/recording.h"
#include "core/fd.h"

/* Larger chunks are not checked. */
#define CHUNK_MAX (64u << 20)

/* Size of a disk's atomic write. An aligned sector of zeros was never written: a chunk has no
 * such run of zeros, except in a user's own event. */
#define SECTOR 512

static bool chunk_has_lost_sector(const uint8_t *data, uint64_t length, off_t offset)
{
	static const uint8_t zeros[SECTOR];
	uint64_t at = (SECTOR - (uint64_t)offset % SECTOR) % SECTOR;

	for (; at + SECTOR <= length; at += SECTOR)
		if (!memcmp(data + at, zeros, SECTOR))
			return true;
	return false;
}

static bool chunk_is_whole(int fd, off_t offset, uint64_t length)
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

off_t whole_chunk_next(int fd, off_t at, off_t end, uint64_t *size)
{
	while (at >= 0 && at < end) {
		if (!recording_chunk(fd, at, end, size) && *size && chunk_is_whole(fd, at, *size))
			return at;
		at = chunk_find_magic(fd, at + 1, end);
	}
	return -1;
}
