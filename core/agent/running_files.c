/* Files of the running recording in the spool. */
#include "core/agent/running_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/log.h"

void running_files_unlink(struct running_files *files)
{
	static const char *const ends[] = { RUNNING_CHUNKS, RUNNING_MEMORY, RUNNING_NOTE };
	char name[sizeof(files->name) + sizeof(RUNNING_CHUNKS)];

	/* The note is removed last, because the others are found by it. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && *files->name; i++) {
		snprintf(name, sizeof(name), "%s%s", files->name, ends[i]);
		unlinkat(files->dir, name, 0);
	}
	*files->name = '\0';
}

void running_files_close(struct running_files *files)
{
	const int fds[] = { files->chunks, files->memory, files->note, files->dir };

	running_files_unlink(files);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int running_files_write_note(struct running_files *files, const struct buf *note)
{
	struct running_head head = { .magic = RUNNING_MAGIC,
				     .version = RUNNING_VERSION,
				     .note_length = (uint32_t)note->length };
	int err = note->length > RUNNING_NOTE_MAX ? -EFBIG : 0;

	/* The head is written last: a file without one is not read. */
	if (!err)
		err = fd_write(files->note, note->data, note->length, sizeof(head));
	if (!err)
		err = fd_write(files->note, &head, sizeof(head), 0);
	if (err)
		running_files_close(files);
	return err;
}

int running_files_dup_chunks(const struct running_files *files)
{
	return fd_raise(fcntl(files->chunks, F_DUPFD_CLOEXEC, 0));
}

int running_files_dup_memory(const struct running_files *files)
{
	return fd_raise(fcntl(files->memory, F_DUPFD_CLOEXEC, 0));
}

void running_files_write_cut(const struct running_files *files, off_t cut, off_t memory_cut)
{
	const uint64_t words[] = { (uint64_t)cut, (uint64_t)memory_cut };
	int err = fd_write(files->note, words, memory_cut ? sizeof(words) : sizeof(words[0]),
			   (off_t)offsetof(struct running_head, cut));

	if (err)
		log_debug("cannot write the spool's note of the running recording: %s",
			  strerror(-err));
}
