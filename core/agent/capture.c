/* Capture: a copy of the running recording for the live endpoint. */
#include "core/agent/capture.h"

#include <errno.h>

#include "core/agent/recording.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/memory/account.h"

const struct capture_skip capture_skips_nothing[2] = { { .fd = -1 }, { .fd = -1 } };

const struct capture_intervals capture_intervals_none = {
	.cpu_ns = UINT64_MAX, .wall_ns = UINT64_MAX, .mem_bytes = UINT64_MAX, .until_ns = UINT64_MAX
};

static uint64_t skipped_bytes(const struct capture *capture, const struct report_part *part)
{
	for (size_t i = 0; i < sizeof(capture->skip) / sizeof(capture->skip[0]); i++)
		if (capture->skip[i].fd == part->fd)
			return capture->skip[i].bytes;
	return 0;
}

static int capture_add_part(struct capture *capture, const struct report_part *part, uint64_t *room)
{
	uint64_t size, skipped = skipped_bytes(capture, part);
	off_t end = part->offset + (off_t)part->length;
	int err = 0;

	for (uint64_t at = 0; at < part->length && !err; at += size) {
		off_t offset = part->offset + (off_t)at;

		err = recording_chunk(part->fd, offset, end, &size);
		if (!err && !size)
			err = -EBADMSG;
		if (err || at + size <= skipped)
			continue;
		if (size > *room) {
			log_info("a recording for the live endpoint ends at %llu bytes: its size "
				 "limit is reached",
				 (unsigned long long)capture->bytes);
			if (size + CAPTURE_SPARE_BYTES > memory_room(MEMORY_CAPTURE))
				memory_count_refusal(MEMORY_CAPTURE);
			atomic_store(capture->full, true);
			return 0;
		}
		err = fd_copy(capture->fd, part->fd, offset, size);
		if (!err)
			memory_add_capture((int64_t)size);
		*room -= size;
		capture->bytes += size;
	}
	return err;
}

void capture_add(struct capture *capture, const struct report *report, uint64_t room)
{
	if (atomic_load(capture->full))
		return;
	for (size_t i = 0; i < report->part_count && !capture->err; i++)
		capture->err = capture_add_part(capture, &report->parts[i], &room);
}
