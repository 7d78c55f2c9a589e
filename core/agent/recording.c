/* The file that an engine writes its recording into.
 *
 * A JFR file is a row of chunks, each complete in itself. A chunk's header tells its size, as
 * soon as it is finished; until then both engines have a size there that reaches beyond the end
 * of the file. So the finished ones can be found, and cut out, without asking the engine. */
#include "core/agent/recording.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent/chunk_join.h"
#include "core/fd.h"
#include "core/memory_file.h"

#define PAGE 4096

#define PROC "/proc/"

/* The front of a chunk's header (68 bytes), big-endian. Source: JDK, jfrChunkWriter.cpp. */
struct chunk_header {
	char magic[4]; /* "FLR\0" */
	uint16_t major, minor;
	uint64_t size;
	uint64_t constant_pools; /* offset of the last */
	uint64_t metadata;       /* offset */
};

struct recording {
	int fd;
	off_t cut; /* chunks before it were handed out, or moved */
	int moved; /* where they go; -1: nowhere */
	off_t moved_cut, moved_end;
	struct chunk_join join; /* what is moved next, to what was moved last */
	char path[64];
};

static int recording_create_file(const char *dir)
{
	int fd = memory_file_open("asprof-agent");

	return fd < 0 && dir ? memory_file_open_in(dir) : fd;
}

/* /proc/self shows the main thread's descriptors, which need not be those of this thread; and what this
 * thread is called there is not its number where /proc is of another namespace. Without it the path
 * leads nowhere, and tells the number still. Where /proc shows a thread by itself the path is that: what is opened below
 * the process is taken away by its parent (core/privileges.c). */
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
	if (memcmp(header.magic, "FLR", sizeof(header.magic)))
		return -EBADMSG;
	header.size = be64toh(header.size);
	/* The pools' offset is written together with the size, and last of all. */
	if (header.size < sizeof(header) || header.size > (uint64_t)(end - offset) ||
	    !header.constant_pools)
		return 0;
	*size = header.size;
	return 0;
}

/* Those that lie in the engine's file. */
static int recording_find_finished(const struct recording *recording, struct report_part *part)
{
	off_t offset = recording->cut;
	struct stat st;
	uint64_t size;
	int err;

	part->fd = recording->fd;
	part->offset = offset;
	part->length = 0;
	if (fstat(recording->fd, &st))
		return -errno;
	do {
		err = recording_chunk(recording->fd, offset, st.st_size, &size);
		offset += (off_t)size;
	} while (!err && size);
	part->length = (uint64_t)(offset - recording->cut);
	return err;
}

int recording_peek(const struct recording *recording, struct report_part *part)
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

	if (part->fd == recording->moved) {
		recording->moved_cut = end;
		chunk_join_end(&recording->join);
	} else if (recording->moved < 0) {
		recording->cut = end;
	}
	return err;
}

static void recording_free_space(int fd, off_t end)
{
	end &= ~(off_t)(PAGE - 1);
	/* Where a hole cannot be made the space comes back with the file. */
	if (end > 0)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
}

void recording_release(struct recording *recording, const struct report_part *part)
{
	(void)recording;
	recording_free_space(part->fd, part->offset + (off_t)part->length);
}

void recording_move_to(struct recording *recording, int fd)
{
	recording->moved = fd;
	recording->moved_cut = recording->moved_end = lseek(fd, 0, SEEK_END);
}

/* Move what is finished, a chunk at a time. */
static int recording_move_finished(struct recording *r)
{
	struct report_part part;
	uint64_t size;
	int err = 0;

	/* What is no recording is told by who cuts it. */
	if (recording_find_finished(r, &part))
		return 0;
	for (uint64_t left = part.length; left && !err; left -= size) {
		err = recording_chunk(r->fd, r->cut, r->cut + (off_t)left, &size);
		if (!err && !size)
			err = -EBADMSG; /* it is not as it was */
		if (!err)
			err = chunk_join_add(&r->join, r->moved, &r->moved_end, r->fd, r->cut,
					     size);
		if (!err)
			r->cut += (off_t)size;
	}
	recording_free_space(r->fd, r->cut);
	if (err && !ftruncate(r->moved, r->moved_end))
		lseek(r->moved, r->moved_end, SEEK_SET);
	return err;
}

/* From a file that takes no more. */
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
	chunk_join_end(&r->join);
	close(r->moved);
	r->moved = fd;
	r->moved_cut = 0;
	r->moved_end = length;
	return 0;
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
	if (recording)
		chunk_join_end(&recording->join);
	free(recording);
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	close(recording->fd);
	if (recording->moved >= 0)
		close(recording->moved);
	chunk_join_end(&recording->join);
	free(recording);
}
