/* The running recording as files of a spool. */
#include "core/agent/running_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"

#define PAGE 4096

/* Of one chunk. Beyond that no more of it is told, and the next begins anew. */
#define JOURNAL_MAX (64u << 20)

struct kept {
	struct running_files files;
	off_t end, start;
	int err; /* of the journal; 0: it goes on */
	bool full;
};

static struct kept *now;

/* When this process began, in the kernel's ticks; 0 where that is not to be known. */
static uint64_t own_beginning(void)
{
	char text[1024];
	unsigned long long began = 0;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	at = strrchr(text, ')'); /* its name may have any */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, "%llu", &began);
	return began;
}

static void remove_files(struct running_files *files)
{
	static const char *const ends[] = { RUNNING_CHUNKS, RUNNING_MEMORY, RUNNING_NOTE };
	char name[sizeof(files->name) + sizeof(RUNNING_CHUNKS)];

	/* The journal last, as the others are found by it. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && *files->name; i++) {
		snprintf(name, sizeof(name), "%s%s", files->name, ends[i]);
		unlinkat(files->dir, name, 0);
	}
	*files->name = '\0';
}

static void running_files_close(struct running_files *files)
{
	const int fds[] = { files->chunks, files->memory, files->journal, files->dir };

	remove_files(files);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int write_head(const struct kept *kept, const struct buf *note)
{
	struct running_head head = { .magic = RUNNING_MAGIC,
				     .version = RUNNING_VERSION,
				     .note_length = (uint32_t)note->length,
				     .memory_cut = KEPT_NO_MEMORY,
				     .pid = (uint64_t)getpid(),
				     .began = own_beginning() };
	int err = note->length > RUNNING_NOTE_MAX ? -EFBIG : 0;

	/* Its head last: what has none is not looked at. */
	if (!err)
		err = fd_write(kept->files.journal, note->data, note->length, sizeof(head));
	if (!err)
		err = fd_write(kept->files.journal, &head, sizeof(head), 0);
	return err;
}

int running_files_write_note(struct kept **out, struct running_files *files, const struct buf *note)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	int err = -ENOMEM;

	if (kept) {
		kept->files = *files;
		kept->end = (off_t)(sizeof(struct running_head) + note->length + PAGE - 1) / PAGE *
			    PAGE;
		err = write_head(kept, note);
	}
	if (err) {
		running_files_close(files);
		free(kept);
		return err;
	}
	now = *out = kept;
	return 0;
}

static bool is_same(const struct stat *asked, int fd)
{
	struct stat own;

	return !fstat(fd, &own) && asked->st_dev == own.st_dev && asked->st_ino == own.st_ino;
}

struct kept *kept_of(int fd, bool *memory)
{
	struct stat asked;

	if (!now || fstat(fd, &asked))
		return NULL;
	*memory = is_same(&asked, now->files.memory);
	return *memory || is_same(&asked, now->files.chunks) ? now : NULL;
}

/* Of the head, whose words are each written by one call. */
static int tell(struct kept *kept, size_t at, off_t value)
{
	uint64_t word = (uint64_t)value;

	return fd_write(kept->files.journal, &word, sizeof(word), (off_t)at);
}

int kept_chunks(const struct kept *kept)
{
	return fd_raise(fcntl(kept->files.chunks, F_DUPFD_CLOEXEC, 0));
}

int running_files_dup_memory(struct kept *kept, bool begin)
{
	int err = begin && ftruncate(kept->files.memory, 0) ? -errno : 0;

	if (!err && begin)
		err = tell(kept, offsetof(struct running_head, memory_cut), 0);
	return err ? err : fd_raise(fcntl(kept->files.memory, F_DUPFD_CLOEXEC, 0));
}

/* The records that begin at FROM are those that count. */
static int begin_at(struct kept *kept, off_t from)
{
	off_t first = (kept->start + PAGE - 1) / PAGE * PAGE, behind = from / PAGE * PAGE;
	int err = tell(kept, offsetof(struct running_head, start), from);

	/* Where no hole can be made the space comes back with the file. */
	if (!err && kept->start && behind > first)
		fallocate(kept->files.journal, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first,
			  behind - first);
	kept->start = from;
	kept->full = false;
	return err;
}

int kept_add(struct kept *kept, const struct buf *records, bool begins)
{
	off_t from = kept->end;

	if (kept->err || (kept->full && !begins))
		return kept->err;
	if (!begins && kept->end - kept->start + (off_t)records->length > JOURNAL_MAX) {
		kept->full = true;
		return 0;
	}
	kept->err = fd_write(kept->files.journal, records->data, records->length, from);
	if (!kept->err)
		kept->end += (off_t)records->length;
	if (!kept->err && begins)
		kept->err = begin_at(kept, from);
	return kept->err;
}

void running_files_write_cut(struct kept *kept, off_t cut, off_t memory_cut)
{
	const uint64_t words[] = { (uint64_t)cut, (uint64_t)memory_cut };
	size_t at = offsetof(struct running_head, cut);
	int err = fd_write(kept->files.journal, words,
			   memory_cut ? sizeof(words) : sizeof(words[0]), (off_t)at);

	if (!kept->err)
		kept->err = err;
}

void running_files_unlink(struct kept *kept)
{
	remove_files(&kept->files);
	if (!kept->err)
		kept->err = -ECANCELED;
}

void kept_close(struct kept *kept)
{
	if (!kept)
		return;
	if (now == kept)
		now = NULL;
	running_files_close(&kept->files);
	free(kept);
}
