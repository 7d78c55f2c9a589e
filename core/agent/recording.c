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
	off_t cut; /* chunks before it were handed out */
	char path[64];
};

static int open_file(const char *dir)
{
	int fd = memory_file_open("asprof-agent");

	return fd < 0 && dir ? memory_file_open_in(dir) : fd;
}

/* /proc/self shows the main thread's descriptors, which need not be those of this thread; and what this
 * thread is called there is not its number where /proc is of another namespace. Without it the path
 * leads nowhere, and tells the number still. */
static void name_file(struct recording *r)
{
	char thread[48];
	ssize_t length = readlink(PROC "thread-self", thread, sizeof(thread));

	if (length <= 0 || (size_t)length == sizeof(thread))
		length = snprintf(thread, sizeof(thread), "thread-self");
	snprintf(r->path, sizeof(r->path), PROC "%.*s/fd/%d", (int)length, thread, r->fd);
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
	name_file(r);
	*out = r;
	return 0;
}

int recording_open(struct recording **out, const char *dir)
{
	return recording_open_in(out, open_file(dir));
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

int recording_peek(const struct recording *recording, struct report_part *part)
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

int recording_cut(struct recording *recording, struct report_part *part)
{
	int err = recording_peek(recording, part);

	recording->cut = part->offset + (off_t)part->length;
	return err;
}

void recording_release(struct recording *recording, const struct report_part *part)
{
	off_t end = (part->offset + (off_t)part->length) & ~(off_t)(PAGE - 1);

	/* Where a hole cannot be made the space comes back with the file. */
	if (end > 0)
		fallocate(recording->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
}

void recording_leave(struct recording *recording)
{
	free(recording);
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	close(recording->fd);
	free(recording);
}
