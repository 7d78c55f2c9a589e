/* Recovery of running recordings of dead processes: find them, make reports, remove them. */
#include "upload/recover/recover.h"

#include <cjson/cJSON.h>
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
#include "profile/basics/array.h"
#include "upload/files/dir.h"
#include "upload/files/temporary.h"
#include "upload/queue/spool_note.h"
#include "upload/queue/spool_running.h"
#include "upload/queue/store.h"
#include "upload/recover/whole_chunk.h"

/* A new note is empty for a moment. */
#define EMPTY_MAX_SECONDS 60

/* Offset of the start time in a chunk's header: nanoseconds since 1970, big-endian. */
#define START_AT  32
#define NS_PER_MS 1000000u

/* A running recording during recovery. */
struct running {
	const struct recover_how *how;
	int dir;
	char name[NAME_FILE_SIZE]; /* prefix of the file names; "" for a finished report */
	int note, chunks, memory;
	off_t note_length, chunks_length, memory_length;
	uint64_t changed_ms; /* last change, since 1970 */
	struct running_head head;
	struct stored_report held;
	struct recover_result result;
};

static int running_open(const struct running *r, const char *end, off_t *length,
			uint64_t *changed_ms)
{
	char name[2 * NAME_FILE_SIZE];
	struct stat st;
	uint64_t changed;
	int fd;

	snprintf(name, sizeof(name), "%s%s", r->name, end);
	fd = spool_note_open(r->dir, name, &st);
	if (fd < 0)
		return fd;
	*length = st.st_size;
	changed = (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / NS_PER_MS;
	if (changed_ms && *changed_ms < changed)
		*changed_ms = changed;
	return fd;
}

/* Returns 0, -EBADMSG or another -errno. */
static int recover_read_head(struct running *r)
{
	struct running_head *head = &r->head;
	int err;

	if (r->note_length < (off_t)sizeof(*head))
		return r->note_length ? -EBADMSG : -ENODATA;
	err = fd_read(r->note, head, sizeof(*head), 0);
	if (err)
		return err;
	if (!head->magic[0])
		return -ENODATA; /* its process ended before it wrote the head, which is last */
	if (memcmp(head->magic, RUNNING_MAGIC, sizeof(head->magic)) ||
	    head->version != RUNNING_VERSION || head->note.length > RUNNING_NOTE_MAX ||
	    head->cut > INT64_MAX / 2 || head->memory_cut > INT64_MAX / 2)
		return -EBADMSG;
	err = spool_note_read(&r->held, r->note, head->note.at, head->note.length, NULL, 0);
	if (!err) {
		r->result.report = &r->held.report;
		r->result.pending = spool_note_pending(&r->held);
	}
	return err;
}

/* Append the finished chunks of IN, a recording of LENGTH bytes, from offset AT to OUT. Skip
 * damaged and unfinished chunks. */
static int recover_copy_chunks(struct running *r, int in, off_t length, off_t at, int out)
{
	uint64_t size;
	off_t next;
	int err = 0;

	while (!err && (next = whole_chunk_next(in, at, length, &size)) >= 0) {
		r->result.left_out += (uint64_t)(next - at);
		err = fd_copy(out, in, next, size);
		at = next + (off_t)size;
	}
	r->result.left_out += length > at ? (uint64_t)(length - at) : 0;
	return err;
}

static void recover_set_times(struct running *r, int out)
{
	struct report *report = &r->held.report;
	uint64_t start_ns;

	if (!fd_read(out, &start_ns, sizeof(start_ns), START_AT))
		report->start_ms = be64toh(start_ns) / NS_PER_MS;
	report->end_ms = r->changed_ms;
	if (report->end_ms < report->start_ms)
		report->end_ms = report->start_ms;
}

/* Add the label chunk that each report has. A report without it is still usable. */
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

/* Write all readable chunks to OUT. Returns 0; -ENODATA if there are none; or another -errno. */
static int recover_write_recording(struct running *r, int out)
{
	struct report *report = &r->held.report;
	off_t length;
	int err = recover_copy_chunks(r, r->chunks, r->chunks_length, (off_t)r->head.cut, out);

	if (!err && r->memory >= 0)
		err = recover_copy_chunks(r, r->memory, r->memory_length, (off_t)r->head.memory_cut,
					  out);
	length = err ? 0 : lseek(out, 0, SEEK_END);
	if (!err && !length)
		err = -ENODATA;
	if (!err) {
		report->part_count = 1;
		report->parts[0] = (struct report_part){ .fd = out, .length = (uint64_t)length };
		report->final = report->recovered = true;
		report->unique = name_unique();
		recover_set_times(r, out);
		report->samples_taken = 0;
		err = samples_count(&report->parts[0], &report->samples_taken);
		if (err == -EBADMSG)
			err = 0; /* the report is still usable */
		recover_add_label(report, out);
	}
	return err;
}

static int recover_name_report(struct running *r, const char *temporary, char made[NAME_FILE_SIZE])
{
	char note[NAME_FILE_SIZE];
	int err = spool_note_save(r->dir, &r->held, NULL, 0, note);

	if (err)
		return err;
	err = spool_note_join(r->dir, &r->held.report, note, temporary, made);
	if (err)
		unlinkat(r->dir, note, 0);
	return err;
}

/* Sync to disk in the command only: a sandbox of a profiled program may forbid these system
 * calls. */
static int recover_sync(const struct running *r, int fd)
{
	return r->how->finished && fsync(fd) ? -errno : 0;
}

/* Call WRITE to fill a temporary file, then rename it. MADE is its name. */
static int recover_write_file(struct running *r, int (*write)(struct running *r, int out),
			      char made[NAME_FILE_SIZE])
{
	int dir = r->how->out >= 0 ? r->how->out : r->dir, fd, out, err;
	char temporary[NAME_FILE_SIZE];

	fd = temporary_create(dir, r->how->out >= 0 ? 0644 : 0600, temporary);
	if (fd < 0)
		return fd;
	out = fd_raise(openat(dir, temporary, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
	err = out < 0 ? out : write(r, out);
	if (!err)
		err = recover_sync(r, out);
	if (out >= 0)
		close(out);
	err = temporary_close(dir, temporary, fd, err);
	if (err)
		return err;
	err = r->how->out >= 0 ? temporary_rename(dir, temporary, &r->held.report, made)
			       : recover_name_report(r, temporary, made);
	if (err)
		unlinkat(dir, temporary, 0);
	else
		recover_sync(r, dir);
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

	r->chunks = running_open(r, RUNNING_CHUNKS, &r->chunks_length, &r->changed_ms);
	r->memory = running_open(r, RUNNING_MEMORY, &r->memory_length, &r->changed_ms);
	if (r->chunks < 0)
		return r->chunks == -ENOENT ? -ENODATA : r->chunks;
	err = r->how->dry ? recover_dry_run(r)
			  : recover_write_file(r, recover_write_recording, made);
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
	case -EINPROGRESS:
		return RECOVER_WAITS;
	default:
		return RECOVER_FAILED;
	}
}

/* Recover with the note locked. */
static int recover_locked(struct running *r, char made[NAME_FILE_SIZE])
{
	struct stat st;
	int err = fstat(r->note, &st) ? -errno : 0;

	if (!err && !st.st_nlink)
		return -ENOENT; /* another process has recovered it */
	/* The note may have been written after it was opened. */
	r->note_length = st.st_size;
	if (!err)
		err = recover_read_head(r);
	if (err == -ENODATA && !st.st_size &&
	    clock_realtime_ns() / 1000000000u < (uint64_t)st.st_mtime + EMPTY_MAX_SECONDS)
		return -EWOULDBLOCK; /* its process is starting */
	if (!err)
		err = recover_make(r, made);
	if (!r->how->dry && (!err || err == -ENODATA || err == -EBADMSG))
		spool_running_unlink(r->dir, r->name);
	return err;
}

/* Report the result ERR and free R. Returns true if it made a report or a profile. */
static bool running_end(struct running *r, int err)
{
	r->result.outcome = recover_outcome_of(err);
	r->result.err = err;
	if (r->how->on_result && err != -ENOENT)
		r->how->on_result(r->how->context, &r->result);
	for (size_t i = 0; i < 3; i++) {
		int fd = (const int[]){ r->note, r->chunks, r->memory }[i];

		if (fd >= 0)
			close(fd);
	}
	spool_note_free(&r->held);
	return !err;
}

/* Returns true if it made a report. */
static bool recover_one(int dir, const char *note, const struct recover_how *how)
{
	struct running r = { .how = how, .dir = dir, .note = -1, .chunks = -1, .memory = -1 };
	char made[NAME_FILE_SIZE];
	int err;

	snprintf(r.name, sizeof(r.name), "%.*s", (int)(strlen(note) - strlen(RUNNING_NOTE)), note);
	r.result.name = note;
	r.note = running_open(&r, RUNNING_NOTE, &r.note_length, &r.changed_ms);
	err = r.note < 0 ? r.note : 0;
	if (!err && flock(r.note, LOCK_EX | LOCK_NB))
		err = -errno;
	if (!err)
		err = recover_locked(&r, made);
	return running_end(&r, err);
}

/* ---- Finished reports ---- */

static int finished_copy(struct running *r, int out)
{
	return fd_copy(out, r->chunks, 0, (uint64_t)r->chunks_length);
}

static int finished_read_note(struct running *r, const char *json)
{
	r->note = running_open(r, json, &r->note_length, NULL);
	return r->note < 0 ? r->note
			   : spool_note_read(&r->held, r->note, 0, r->note_length, NULL, 0);
}

/* True if the report is to be moved to the directory for profiles. */
static bool finished_is_wanted(const struct running *r)
{
	const char *destination = r->how->destination;
	const cJSON *name;

	if (r->how->dry || r->how->out < 0)
		return false;
	cJSON_ArrayForEach(name, r->result.pending) if (destination &&
							!strncmp(name->valuestring, destination,
								 strlen(destination))) return true;
	return !destination;
}

/* Returns -EINPROGRESS if the report stays in the spool. */
static int finished_write(struct running *r, const char *name, char made[NAME_FILE_SIZE])
{
	char json[NAME_FILE_SIZE + 1];
	struct stat st;
	int err;

	r->chunks = running_open(r, name, &r->chunks_length, NULL);
	if (r->chunks < 0)
		return r->chunks;
	spool_note_name(json, name);
	err = finished_read_note(r, json);
	if (err)
		return err == -EBADMSG ? -EPROTO : err;
	r->result.report = &r->held.report;
	r->result.pending = spool_note_pending(&r->held);
	/* Another process is delivering it, or has delivered it. */
	if (flock(r->chunks, LOCK_EX | LOCK_NB))
		return -EINPROGRESS;
	if (fstat(r->chunks, &st) || !st.st_nlink)
		return -ENOENT;
	if (!finished_is_wanted(r))
		return -EINPROGRESS;
	err = recover_write_file(r, finished_copy, made);
	if (err)
		return err;
	r->result.made = made;
	unlinkat(r->dir, name, 0);
	unlinkat(r->dir, json, 0);
	return 0;
}

/* Returns true if it made a profile. */
static bool recover_finished(int dir, const char *name, const struct recover_how *how)
{
	struct running r = { .how = how, .dir = dir, .note = -1, .chunks = -1, .memory = -1 };
	char made[NAME_FILE_SIZE];

	r.result.name = name;
	return running_end(&r, finished_write(&r, name, made));
}

/* ---- All of a spool ---- */

static bool finished_is_name(const char *name)
{
	size_t length = strlen(name), end = strlen(NAME_SPOOLED);

	return length > end && length < NAME_FILE_SIZE &&
	       !strcmp(name + length - end, NAME_SPOOLED);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct name_list {
	char **names;
	uint32_t count, capacity;
};

static void name_list_free(struct name_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
}

static int name_list_add(struct name_list *list, const char *name)
{
	if (array_reserve(&list->names, &list->capacity, list->count, sizeof(*list->names)))
		return -ENOMEM;
	list->names[list->count] = strdup(name);
	return list->names[list->count] ? (list->count++, 0) : -ENOMEM;
}

/* Fill LIST with the sorted names in DIR for which MATCHES returns true, at most MAX unless it is 0. Returns 0 or
 * -errno; release with name_list_free() in any case. */
static int recover_list(int dir, bool (*matches)(const char *name), uint32_t max,
			struct name_list *list)
{
	int err;
	DIR *listing = dir_list(dir, &err);
	struct dirent *entry;

	while (listing && !err && (!max || list->count < max) && (entry = readdir(listing)))
		if (matches(entry->d_name))
			err = name_list_add(list, entry->d_name);
	if (list->count)
		qsort(list->names, list->count, sizeof(*list->names), compare_names);
	if (listing)
		closedir(listing);
	return err;
}

/* Lock DIR against a concurrent recovery. On a file system without directory locks only each
 * note is locked, and two processes may alternate. */
static int recover_lock_dir(int dir)
{
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	close(fd);
	return -EBUSY;
}

static int recover_each(int dir, const struct recover_how *how, bool (*matches)(const char *name),
			bool (*recover)(int dir, const char *name, const struct recover_how *how))
{
	struct name_list list = { 0 };
	int err = recover_list(dir, matches, how->max_names, &list), lock = -1, made = 0;

	if (!err && list.count && !how->dry) {
		lock = recover_lock_dir(dir);
		made = lock < 0 ? lock : 0;
	}
	for (uint32_t i = 0; !err && i < list.count; i++)
		if (made >= 0 && (!how->go_on || how->go_on(how->context)))
			made += recover(dir, list.names[i], how);
	name_list_free(&list);
	if (lock >= 0)
		close(lock);
	return err ? err : made;
}

int recover_spool(int dir, const struct recover_how *how)
{
	/* Finished reports first: a recovered report may then wait there as well. */
	int finished =
		how->finished ? recover_each(dir, how, finished_is_name, recover_finished) : 0;
	int made = finished < 0 ? finished
				: recover_each(dir, how, spool_running_is_note, recover_one);

	return made < 0 ? made : made + finished;
}
