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

/* Write NOTE to a part of the file that the current JSON does not use, and set PLACE to it. */
static int running_files_write_json(struct running_files *files, const struct buf *note,
				    struct running_place *place)
{
	uint32_t first = sizeof(struct running_head);

	if (note->length > RUNNING_NOTE_MAX)
		return -EFBIG;
	*place = (struct running_place){ .at = first, .length = (uint32_t)note->length };
	if (files->place.length && first + place->length > files->place.at)
		place->at = files->place.at + files->place.length;
	return fd_write(files->note, note->data, note->length, (off_t)place->at);
}

int running_files_write_note(struct running_files *files, const struct buf *note)
{
	struct running_head head = { .magic = RUNNING_MAGIC, .version = RUNNING_VERSION };
	int err = running_files_write_json(files, note, &head.note);

	/* The head is written last: a file without one is not read. */
	if (!err)
		err = fd_write(files->note, &head, sizeof(head), 0);
	if (err)
		running_files_close(files);
	else
		files->place = head.note;
	return err;
}

int running_files_replace_note(struct running_files *files, const struct buf *note)
{
	struct running_place place;
	int err = running_files_write_json(files, note, &place);

	if (!err)
		err = fd_write(files->note, &place, sizeof(place),
			       (off_t)offsetof(struct running_head, note));
	if (!err)
		files->place = place;
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
