/* File that an engine writes its recording to.
 *
 * A JFR file is a sequence of self-contained chunks. The header of a finished chunk has its size. In an unfinished
 * chunk both engines store a size beyond the end of the file. So the finished chunks can be found and cut without
 * the engine. */
#include "core/agent/recording.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent/chunk_check.h"
#include "core/fd.h"
#include "core/memory_file.h"

#define PAGE 4096

/* Larger chunks are not decoded to check them. */
#define CHECKED_MAX ((uint64_t)16 << 20)

#define PROC "/proc/"

/* Start of a chunk's header (68 bytes), big-endian. Source: JDK, jfrChunkWriter.cpp. */
struct chunk_header {
	char magic[4]; /* "FLR\0" */
	uint16_t major, minor;
	uint64_t size;
	uint64_t constant_pools; /* offset of the last one */
	uint64_t metadata;       /* offset */
};

struct recording {
	int fd;
	off_t cut;      /* chunks before it were returned by a cut, or moved */
	off_t finished; /* chunks before it are known to be finished */
	int moved;      /* file that they are moved to; -1: none */
	off_t moved_cut, moved_end;
	uint64_t dropped; /* damaged chunks */
	char path[64];
};

static int recording_create_file(const char *dir)
{
	int fd = memory_file_open("asprof-agent");

	return fd < 0 && dir ? memory_file_open_in(dir) : fd;
}

/* Set the path of the recording for engines.
 *
 * /proc/self shows the main thread's descriptors, which this thread may not have. If /proc belongs to another pid
 * namespace, this thread has another id there. Without /proc the path leads nowhere, but still contains the
 * descriptor. If /proc shows a thread's own entry, the path uses that: the parent removes the entries below the
 * process (core/privileges.c). */
static void recording_set_path(struct recording *r)
{
	char thread[48], nothing[1];
	ssize_t length = readlink(PROC "thread-self", thread, sizeof(thread) - 1);
	const char *number;

	if (length <= 0 || (size_t)length == sizeof(thread) - 1)
		length = snprintf(thread, sizeof(thread), "thread-self");
	thread[length] = '\0';
	number = strrchr(thread, '/');
	if (number) {
		snprintf(r->path, sizeof(r->path), PROC "%s/fd/%d", number + 1, r->fd);
		if (readlink(r->path, nothing, sizeof(nothing)) > 0)
			return;
	}
	snprintf(r->path, sizeof(r->path), PROC "%s/fd/%d", thread, r->fd);
}

int recording_open_in(struct recording **out, int fd)
{
	struct recording *r;

	if (fd < 0)
		return fd;
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return -ENOMEM;
	}
	r->fd = fd;
	r->moved = -1;
	recording_set_path(r);
	*out = r;
	return 0;
}

int recording_open(struct recording **out, const char *dir)
{
	return recording_open_in(out, recording_create_file(dir));
}

const char *recording_path(const struct recording *recording)
{
	return recording->path;
}

int recording_number(const char *path)
{
	const char *folder = strstr(path, "/fd/");

	return strncmp(path, PROC, strlen(PROC)) || !folder ? -1 : atoi(folder + strlen("/fd/"));
}

int recording_fd(const struct recording *recording)
{
	return recording->fd;
}

int recording_chunk(int fd, off_t offset, off_t end, uint64_t *size)
{
	struct chunk_header header;
	int err;

	*size = 0;
	if (end - offset < (off_t)sizeof(header))
		return 0;
	err = fd_read(fd, &header, sizeof(header), offset);
	if (err)
		return err;
	header.size = be64toh(header.size);
	/* The pools' offset and the size are written together, at the very end. */
	if (header.size >= sizeof(header) && header.size <= (uint64_t)(end - offset) &&
	    header.constant_pools)
		*size = header.size;
	return memcmp(header.magic, "FLR", sizeof(header.magic)) ? -EBADMSG : 0;
}

bool recording_has_size_limit(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

/* True if the finished chunk at OFFSET is damaged. async-profiler ignores errors of its writes: under a file size limit
 * even the end of a constant pool may be missing. */
static bool chunk_is_damaged(int fd, off_t offset, uint64_t size)
{
	uint8_t *data;
	bool is_damaged;

	if (!chunk_has_structure(fd, offset, size))
		return true;
	data = recording_has_size_limit() && size <= CHECKED_MAX ? malloc(size) : NULL;
	if (!data)
		return false;
	is_damaged = fd_read(fd, data, size, offset) || !chunk_is_readable(data, size);
	free(data);
	return is_damaged;
}

/* Find the finished chunks in the engine's file. Damaged chunks are dropped, but not before PART has the chunks in
 * front of them. */
static int recording_find_finished(struct recording *r, struct report_part *part)
{
	struct stat st;
	uint64_t size = 0;
	int err = 0;

	*part = (struct report_part){ .fd = r->fd, .offset = r->cut };
	if (fstat(r->fd, &st))
		return -errno;
	do {
		r->finished += (off_t)size;
		err = recording_chunk(r->fd, r->finished, st.st_size, &size);
		if (!size || (!err && !chunk_is_damaged(r->fd, r->finished, size)))
			continue;
		err = 0;
		if (r->finished > r->cut)
			break;
		r->cut += (off_t)size;
		r->dropped++;
	} while (!err && size);
	part->offset = r->cut;
	part->length = (uint64_t)(r->finished - r->cut);
	return err;
}

void recording_skip_chunk(struct recording *recording)
{
	struct stat st;
	off_t next;

	if (fstat(recording->fd, &st))
		return;
	next = chunk_find_magic(recording->fd, recording->finished + 1, st.st_size);
	recording->cut = recording->finished = next < 0 ? st.st_size : next;
}

uint64_t recording_take_dropped(struct recording *recording)
{
	uint64_t dropped = recording->dropped;

	recording->dropped = 0;
	return dropped;
}

int recording_peek(struct recording *recording, struct report_part *part)
{
	int err = recording_find_finished(recording, part);

	if (!err && recording->moved >= 0)
		*part = (struct report_part){
			.fd = recording->moved,
			.offset = recording->moved_cut,
			.length = (uint64_t)(recording->moved_end - recording->moved_cut),
		};
	return err;
}

int recording_cut(struct recording *recording, struct report_part *part)
{
	int err = recording_peek(recording, part);
	off_t end = part->offset + (off_t)part->length;

	if (part->fd == recording->moved)
		recording->moved_cut = end;
	else if (recording->moved < 0)
		recording->cut = end;
	return err;
}

uint64_t recording_uncut_bytes(const struct recording *recording)
{
	struct stat st;
	off_t bytes = fstat(recording->fd, &st) ? 0 : st.st_size - recording->cut;

	if (recording->moved >= 0)
		bytes += recording->moved_end - recording->moved_cut;
	return bytes > 0 ? (uint64_t)bytes : 0;
}

/* The same as recording_release(). After other errors the next call frees the space. */
static int recording_free_space(int fd, off_t end)
{
	end &= ~(off_t)(PAGE - 1);
	if (end <= 0 || !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end))
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? -EOPNOTSUPP : 0;
}

int recording_release(struct recording *recording, const struct report_part *part)
{
	(void)recording;
	return recording_free_space(part->fd, part->offset + (off_t)part->length);
}

void recording_move_to(struct recording *recording, int fd)
{
	recording->moved = fd;
	recording->moved_cut = recording->moved_end = lseek(fd, 0, SEEK_END);
}

static int recording_move_finished(struct recording *r)
{
	struct report_part part;
	int err;

	/* recording_cut() reports a file that is not a recording. */
	if (recording_find_finished(r, &part) || !part.length)
		return 0;
	err = fd_copy(r->moved, r->fd, part.offset, part.length);
	if (err) {
		if (!ftruncate(r->moved, r->moved_end))
			lseek(r->moved, r->moved_end, SEEK_SET);
		return err;
	}
	r->moved_end += (off_t)part.length;
	r->cut += (off_t)part.length;
	recording_free_space(r->fd, r->cut);
	return 0;
}

/* Copy chunks back to memory from a file that cannot grow. */
static int recording_move_back(struct recording *r)
{
	off_t length = r->moved_end - r->moved_cut;
	int fd = memory_file_open("asprof-agent");
	int err = fd < 0 ? fd : fd_copy(fd, r->moved, r->moved_cut, (uint64_t)length);

	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	close(r->moved);
	r->moved = fd;
	r->moved_cut = 0;
	r->moved_end = length;
	return 0;
}

int recording_move_to_memory(struct recording *recording)
{
	return recording->moved < 0 ? 0 : recording_move_back(recording);
}

int recording_move(struct recording *recording)
{
	int err = recording->moved < 0 ? 0 : recording_move_finished(recording);

	if (err && !recording_move_back(recording))
		recording_move_finished(recording);
	return err;
}

void recording_leak(struct recording *recording)
{
	free(recording);
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	close(recording->fd);
	if (recording->moved >= 0)
		close(recording->moved);
	free(recording);
}
