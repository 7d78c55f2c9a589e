/* Running recordings of dead processes: looked for, made reports of, removed. */
#include "upload/recover/recover.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent/running_files.h"
#include "core/agent/recording.h"
#include "core/agent/samples.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/memory_file.h"
#include "engine/collect/label_chunk.h"
#include "upload/files/dir.h"
#include "upload/files/temporary.h"
#include "upload/queue/spool_note.h"
#include "upload/queue/spool_running.h"
#include "upload/queue/store.h"
#include "upload/recover/recover_chunk.h"
#include "upload/recover/whole_chunk.h"

/* As large as the journal of a chunk becomes (core/agent/running_files.c), and what one write may have added. */
#define JOURNAL_MAX (80u << 20)

/* A journal has no head for a moment. */
#define EMPTY_MAX_SECONDS 60

/* Where a chunk's header has the nanoseconds since 1970, big-endian. */
#define START_AT  32
#define NS_PER_MS 1000000u

#define TRIES_MAX 1000

/* More are for the next look. */
#define JOURNALS_MAX 4096

/* One that is being looked at. */
struct running {
	const struct recover_how *how;
	int dir;
	char name[NAME_FILE_SIZE]; /* the beginning of the names */
	int journal, chunks, memory;
	off_t journal_length, chunks_length, memory_length;
	int64_t changed; /* seconds since 1970 */
	struct running_head head;
	uint8_t *records;
	struct held *held;
	uint64_t damaged; /* bytes that were left out before others */
	struct recover_result result;
};

static int running_open(const struct running *r, const char *end, off_t *length, int64_t *changed)
{
	char name[NAME_FILE_SIZE + 32];
	struct stat st;
	int fd, err;

	snprintf(name, sizeof(name), "%s%s", r->name, end);
	fd = fd_raise(openat(r->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : is_trusted(&st) ? 0 : -EPERM;
	if (err) {
		close(fd);
		return err;
	}
	*length = st.st_size;
	if (changed && *changed < st.st_mtime)
		*changed = st.st_mtime;
	return fd;
}

static void remove_files(const struct running *r)
{
	static const char *const ends[] = { RUNNING_CHUNKS, RUNNING_MEMORY, RUNNING_NOTE };
	char name[NAME_FILE_SIZE + 32];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !r->how->dry; i++) {
		snprintf(name, sizeof(name), "%s%s", r->name, ends[i]);
		unlinkat(r->dir, name, 0);
	}
}

/* What is in the journal before its records. Returns 0, -EBADMSG or another -errno. */
static int recover_read_head(struct running *r)
{
	struct running_head *head = &r->head;
	char *note = NULL;
	int err = -EBADMSG;

	if (r->journal_length < (off_t)sizeof(*head))
		return err;
	err = fd_read(r->journal, head, sizeof(*head), 0);
	if (err)
		return err;
	if (memcmp(head->magic, RUNNING_MAGIC, sizeof(head->magic)) ||
	    head->version != RUNNING_VERSION || head->note_length > RUNNING_NOTE_MAX ||
	    head->cut > INT64_MAX / 2 || head->start > INT64_MAX / 2 ||
	    (head->memory_cut > INT64_MAX / 2 && head->memory_cut != KEPT_NO_MEMORY))
		return -EBADMSG;
	note = malloc(head->note_length + 1);
	if (!note)
		return -ENOMEM;
	err = fd_read(r->journal, note, head->note_length, sizeof(*head));
	if (err == -ENODATA)
		err = -EBADMSG;
	if (!err)
		err = spool_note_read(r->held, note, head->note_length, NULL, 0);
	free(note);
	if (!err) {
		r->result.report = &r->held->report;
		r->result.pending = r->held->foreign;
	}
	return err;
}

static int read_journal(struct running *r, struct recover_journal **out)
{
	off_t start = (off_t)r->head.start, length = r->journal_length - start;
	int err;

	if (!start || length <= 0)
		length = 0;
	if (length > JOURNAL_MAX)
		return -EFBIG;
	/* Never by a mapping: somebody may cut the file meanwhile. */
	r->records = malloc((size_t)length + 1);
	if (!r->records)
		return -ENOMEM;
	err = fd_read(r->journal, r->records, (size_t)length, start);
	return err ? err
		   : recover_journal_open(out, r->records, (size_t)length, r->held->report.pid);
}

/* Append the finished chunks of IN, a recording of LENGTH bytes, from *AT on to OUT, and move *AT behind
 * them; those that are damaged are left out. */
static int copy_finished(struct running *r, int in, off_t length, int out, off_t *at)
{
	uint64_t size;
	off_t next;
	int err = 0;

	while (!err && (next = whole_chunk_next(in, *at, length, &size)) >= 0) {
		r->damaged += (uint64_t)(next - *at);
		err = fd_copy(out, in, next, size);
		*at = next + (off_t)size;
	}
	return err;
}

/* What has become of a chunk that could not be finished is no reason to leave out the others. */
static int unless_damaged(int err)
{
	return err == -EBADMSG || err == -EPROTO || err == -ENODATA || err == -EIO ? 0 : err;
}

/* Append the chunks that were being written. Where its writer finished one, and died before it began the
 * next, that is among those before FINISHED already; and with a chunk behind it, so is that of memory. */
static int copy_unfinished(struct running *r, struct recover_journal *journal, off_t finished,
			   int out)
{
	uint64_t start, memory_start, events = 0, size = 0;
	bool open = recover_journal_has(journal, 0, &start), moved;
	int err = 0;

	if (open && start < r->head.cut)
		return 0;
	moved = open && (off_t)start < finished;
	if (open && !moved)
		err = recover_journal_finish(journal, 0, r->chunks, r->chunks_length, out, &events);
	if (!err && moved && !recording_chunk(r->chunks, (off_t)start, r->chunks_length, &size) &&
	    (off_t)(start + size) < finished)
		return 0;
	r->result.left_out =
		r->chunks_length > finished ? (uint64_t)(r->chunks_length - finished) - events : 0;
	if (r->result.left_out > (uint64_t)r->chunks_length)
		r->result.left_out = 0;
	if (err != -ENOMEM && r->memory >= 0 && r->head.memory_cut == KEPT_NO_MEMORY &&
	    recover_journal_has(journal, 1, &memory_start) &&
	    recover_journal_finish(journal, 1, r->memory, r->memory_length, out, &events) ==
		    -ENOMEM)
		err = -ENOMEM;
	return unless_damaged(err);
}

/* The same of native memory, where it has a recording of its own. */
static int copy_memory(struct running *r, struct recover_journal *journal, int out)
{
	off_t finished = (off_t)r->head.memory_cut;
	uint64_t start, events = 0;
	int err = copy_finished(r, r->memory, r->memory_length, out, &finished);

	if (!err && recover_journal_has(journal, 1, &start) && (off_t)start >= finished)
		err = recover_journal_finish(journal, 1, r->memory, r->memory_length, out, &events);
	if (r->memory_length > finished + (off_t)events)
		r->result.left_out += (uint64_t)(r->memory_length - finished) - events;
	return unless_damaged(err);
}

static void recover_set_times(struct running *r, const struct recover_journal *journal, int out)
{
	struct report *report = &r->held->report;
	const struct keeping_mark *mark = recover_journal_mark(journal);
	uint64_t start_ns;

	if (!fd_read(out, &start_ns, sizeof(start_ns), START_AT))
		report->start_ms = be64toh(start_ns) / NS_PER_MS;
	report->end_ms = mark ? mark->now_ns / NS_PER_MS : (uint64_t)r->changed * 1000;
	if (report->end_ms < report->start_ms)
		report->end_ms = report->start_ms;
	report->samples_lost = mark ? mark->lost : 0;
}

/* Whom it is of, as every report tells. Without, it is a report still. */
static void recover_add_label(const struct report *report, int out)
{
	struct recording *labels;
	struct report_part part;

	if (recording_open(&labels, NULL))
		return;
	if (!label_chunk_write(recording_fd(labels), report) && !recording_cut(labels, &part) &&
	    part.length && lseek(out, 0, SEEK_END) >= 0)
		fd_copy(out, part.fd, part.offset, part.length);
	recording_close(labels);
}

/* Write all that can be had to OUT. Returns 0; -ENODATA where there is nothing; or another -errno. */
static int recover_write_recording(struct running *r, int out)
{
	struct report *report = &r->held->report;
	struct recover_journal *journal = NULL;
	off_t finished = (off_t)r->head.cut, length;
	int err = read_journal(r, &journal);

	if (!err)
		err = copy_finished(r, r->chunks, r->chunks_length, out, &finished);
	if (!err)
		err = copy_unfinished(r, journal, finished, out);
	if (!err && r->memory >= 0 && r->head.memory_cut != KEPT_NO_MEMORY)
		err = copy_memory(r, journal, out);
	r->result.left_out += r->damaged;
	length = err ? 0 : lseek(out, 0, SEEK_END);
	if (!err && !length)
		err = -ENODATA;
	if (!err) {
		report->part_count = 1;
		report->parts[0] = (struct report_part){ .fd = out, .length = (uint64_t)length };
		report->final = report->recovered = true;
		report->unique = name_unique();
		recover_set_times(r, journal, out);
		report->samples_taken = 0;
		err = samples_count(&report->parts[0], &report->samples_taken);
		if (err == -EBADMSG)
			err = 0; /* it is what there is */
		recover_add_label(report, out);
	}
	recover_journal_close(journal);
	return err;
}

static int profile_convert(struct running *r, const char *temporary, char made[NAME_FILE_SIZE])
{
	int err = -EEXIST;

	for (unsigned try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(made, &r->held->report, NAME_PROFILE, try);
		err = dir_rename_new(r->how->out, temporary, made);
	}
	return err;
}

static int recover_name_report(struct running *r, const char *temporary, char made[NAME_FILE_SIZE])
{
	char note[NAME_FILE_SIZE];
	int err = spool_note_save(r->dir, r->held, NULL, 0, note);

	if (err)
		return err;
	err = spool_note_join(r->dir, &r->held->report, note, temporary, made);
	if (err)
		unlinkat(r->dir, note, 0);
	return err;
}

static int recover_write_file(struct running *r, char made[NAME_FILE_SIZE])
{
	int dir = r->how->out >= 0 ? r->how->out : r->dir, fd, out, err;
	char temporary[NAME_FILE_SIZE];

	fd = temporary_create(dir, r->how->out >= 0 ? 0644 : 0600, temporary);
	if (fd < 0)
		return fd;
	out = fd_raise(openat(dir, temporary, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
	err = out < 0 ? out : recover_write_recording(r, out);
	if (out >= 0)
		close(out);
	err = temporary_close(dir, temporary, fd, err);
	if (err)
		return err;
	err = r->how->out >= 0 ? profile_convert(r, temporary, made)
			       : recover_name_report(r, temporary, made);
	if (err)
		unlinkat(dir, temporary, 0);
	return err;
}

static int recover_dry_run(struct running *r)
{
	int out = memory_file_open("asprof-agent");
	int err = out < 0 ? out : recover_write_recording(r, out);

	if (out >= 0)
		close(out);
	return err;
}

static int recover_make(struct running *r, char made[NAME_FILE_SIZE])
{
	int err;

	r->chunks = running_open(r, RUNNING_CHUNKS, &r->chunks_length, &r->changed);
	r->memory = running_open(r, RUNNING_MEMORY, &r->memory_length, &r->changed);
	if (r->chunks < 0)
		return r->chunks == -ENOENT ? -ENODATA : r->chunks;
	err = r->how->dry ? recover_dry_run(r) : recover_write_file(r, made);
	if (!err && !r->how->dry)
		r->result.made = made;
	return err;
}

static enum recover_outcome recover_outcome_of(int err)
{
	switch (err) {
	case 0:
		return RECOVER_MADE;
	case -ENODATA:
		return RECOVER_NOTHING;
	case -EBADMSG:
		return RECOVER_DAMAGED;
	case -EPERM:
		return RECOVER_FOREIGN;
	case -EWOULDBLOCK:
		return RECOVER_ALIVE;
	default:
		return RECOVER_FAILED;
	}
}

/* With its journal locked. */
static int recover_locked(struct running *r, char made[NAME_FILE_SIZE])
{
	struct stat st;
	int err = fstat(r->journal, &st) ? -errno : 0;

	if (!err && !st.st_nlink)
		return -ENOENT; /* somebody else has recovered it */
	/* It may have been written since it was opened. */
	r->journal_length = st.st_size;
	if (!err)
		err = recover_read_head(r);
	if (err == -EBADMSG &&
	    clock_realtime_ns() / 1000000000u < (uint64_t)st.st_mtime + EMPTY_MAX_SECONDS &&
	    !st.st_size)
		return -EWOULDBLOCK; /* it is about to begin */
	if (!err)
		err = recover_make(r, made);
	if (!err || err == -ENODATA || err == -EBADMSG)
		remove_files(r);
	return err;
}

/* Returns whether a report was made. */
static bool recover_one(int dir, const char *journal, const struct recover_how *how)
{
	struct running r = { .how = how, .dir = dir, .journal = -1, .chunks = -1, .memory = -1 };
	char made[NAME_FILE_SIZE];
	int err;

	snprintf(r.name, sizeof(r.name), "%.*s", (int)(strlen(journal) - strlen(RUNNING_NOTE)),
		 journal);
	r.result.name = journal;
	r.held = calloc(1, sizeof(*r.held));
	r.journal = running_open(&r, RUNNING_NOTE, &r.journal_length, &r.changed);
	err = r.held ? r.journal < 0 ? r.journal : 0 : -ENOMEM;
	if (!err && flock(r.journal, LOCK_EX | LOCK_NB))
		err = -errno;
	if (!err)
		err = recover_locked(&r, made);
	r.result.outcome = recover_outcome_of(err);
	r.result.err = err;
	if (how->tell && err != -ENOENT)
		how->tell(how->context, &r.result);
	for (size_t i = 0; i < 3; i++) {
		int fd = (const int[]){ r.journal, r.chunks, r.memory }[i];

		if (fd >= 0)
			close(fd);
	}
	free(r.records);
	if (r.held)
		spool_note_free(r.held);
	free(r.held);
	return !err;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Set *NAMES to those of the journals in DIR, sorted. Returns how many, or -errno. */
static int recover_list(int dir, char ***names)
{
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int count = 0;

	*names = calloc(JOURNALS_MAX, sizeof(**names));
	while (listing && *names && count < JOURNALS_MAX && (entry = readdir(listing)))
		if (spool_running_is_note(entry->d_name)) {
			(*names)[count] = strdup(entry->d_name);
			count += (*names)[count] != NULL;
		}
	if (count)
		qsort(*names, (size_t)count, sizeof(**names), compare_names);
	if (listing)
		closedir(listing);
	else if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : listing && *names ? count : -ENOMEM;
}

/* Where a directory cannot be locked, each journal is, and two may take turns. */
static int recover_lock_dir(int dir)
{
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	close(fd);
	return -EBUSY;
}

int recover_spool(int dir, const struct recover_how *how)
{
	char **names;
	int count = recover_list(dir, &names), lock = -1, made = 0;

	if (count > 0 && !how->dry) {
		lock = recover_lock_dir(dir);
		made = lock < 0 ? lock : 0;
	}
	for (int i = 0; i < count; i++) {
		if (made >= 0 && (!how->go_on || how->go_on(how->context)))
			made += recover_one(dir, names[i], how);
		free(names[i]);
	}
	free(names);
	if (lock >= 0)
		close(lock);
	return count < 0 ? count : made;
}
