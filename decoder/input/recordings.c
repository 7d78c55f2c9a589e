/* Recordings that the command line names. */
#include "decoder/input/recordings.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/bucket/bucket.h"
#include "decoder/input/source_open.h"
#include "decoder/output/message.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"
#include "profile/jfr/jfr_read.h"
#include "upload/files/place.h"

#define DIRECTORY_DEPTH 16

static int recordings_add_path(struct recordings *r, const char *path)
{
	if (array_reserve(&r->list, &r->room, r->count, sizeof(*r->list)))
		return -ENOMEM;
	r->list[r->count].path = strdup(path);
	if (!r->list[r->count].path)
		return -ENOMEM;
	r->count++;
	return 0;
}

/* Whether the file with STATUS was already added, under any name or link. Adds it. */
static bool file_was_added(struct recordings *r, const struct stat *status)
{
	const uint64_t key[2] = { status->st_dev, status->st_ino };
	uint32_t before = r->added.count;

	return intern(&r->added, key, sizeof(key)) && r->added.count == before;
}

/* Whether PATH is a packed copy of a recording in the same directory, as gzip -k leaves. */
static bool file_is_packed_copy(const char *path)
{
	static const char suffix[] = ".gz";
	char unpacked[4096];
	struct stat status;

	if (!text_has_suffix(path, suffix))
		return false;
	snprintf(unpacked, sizeof(unpacked), "%.*s", (int)(strlen(path) - strlen(suffix)), path);
	return !stat(unpacked, &status) && S_ISREG(status.st_mode);
}

static int recordings_add_directory(struct recordings *r, const char *path, int depth);

static int recordings_add_entry(struct recordings *r, const char *path, const char *name, int depth)
{
	char child[4096];
	struct stat status;

	if (*name == '.' ||
	    (size_t)snprintf(child, sizeof(child), "%s/%s", path, name) >= sizeof(child) ||
	    stat(child, &status))
		return 0;
	if (!S_ISDIR(status.st_mode) && !(S_ISREG(status.st_mode) && object_key_is_recording(name)))
		return 0;
	if ((S_ISDIR(status.st_mode) && depth == DIRECTORY_DEPTH) || file_is_packed_copy(child) ||
	    file_was_added(r, &status))
		return 0;
	return S_ISDIR(status.st_mode) ? recordings_add_directory(r, child, depth + 1)
				       : recordings_add_path(r, child);
}

/* Add the recordings in PATH and its subdirectories, sorted by name. */
static int recordings_add_directory(struct recordings *r, const char *path, int depth)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, NULL, alphasort), err = 0;

	if (count < 0) {
		message_print("%s: %s", path, strerror(errno));
		r->failed = true;
		return 0;
	}
	for (int i = 0; i < count; i++) {
		if (!err)
			err = recordings_add_entry(r, path, entries[i]->d_name, depth);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int recordings_add_object(void *arg, const char *path)
{
	struct recordings *r = arg;
	uint32_t before = r->added.count;

	if (!intern(&r->added, path, strlen(path)))
		return -ENOMEM;
	return r->added.count > before ? recordings_add_path(r, path) : 0;
}

static int recordings_add_bucket(struct recordings *r, const char *file)
{
	static const struct selection all = { .bucket = { .cache_bytes = BUCKET_CACHE_BYTES } };
	const struct selection *selection = r->selection ? r->selection : &all;
	int err = bucket_list_objects(file, &selection->uploads, &selection->bucket,
				      recordings_add_object, r);

	r->failed |= err != 0;
	return err == -ENOMEM ? err : 0;
}

/* True if DIRECTORY/NAME, a spool of `run`, has a recording that is not a profile yet. */
static bool spool_has_recordings(const char *directory, const char *name)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return false;
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = text_has_suffix(entry->d_name, ".running.chunks") ||
			text_has_suffix(entry->d_name, ".jfr");
	if (dir)
		closedir(dir);
	return found;
}

/* Print that DIRECTORY has no recording, and how to make one of what a killed program left. */
static void print_no_recording(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	bool left = false;

	while (dir && !left && (entry = readdir(dir)))
		left = place_is_of_run(entry->d_name) &&
		       spool_has_recordings(directory, entry->d_name);
	if (dir)
		closedir(dir);
	if (left)
		message_print("%s: no recording in this directory yet; if the program was killed, "
			      "`asprof-agent recover -o %s %s` makes one",
			      directory, directory, directory);
	else
		message_print("%s: no recording in this directory", directory);
}

/* Add the recordings of one argument of the command line. */
static int recordings_add_argument(struct recordings *r, const char *path)
{
	bool standard = !strcmp(path, "-");
	uint32_t before = r->count;
	struct stat status;
	int err;

	if (bucket_is_url(path))
		return recordings_add_bucket(r, path);
	if (standard ? fstat(STDIN_FILENO, &status) : stat(path, &status))
		return recordings_add_path(r, path); /* source_open() prints the error */
	if (file_was_added(r, &status))
		return 0;
	if (standard || !S_ISDIR(status.st_mode))
		return recordings_add_path(r, path);
	err = recordings_add_directory(r, path, 0);
	if (!err && r->count == before && !r->failed) {
		print_no_recording(path);
		r->failed = true;
	}
	return err;
}

int recordings_add_paths(struct recordings *r, char **paths, int count)
{
	int err = 0;

	for (int i = 0; i < count && !err; i++)
		err = recordings_add_argument(r, paths[i]);
	return err;
}

static int compare_start(const void *a, const void *b)
{
	const struct recording_path *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool source_is_selected(const struct selection *selection, struct source *source)
{
	return !source_load(source) && (!selection || selection_matches(selection, source));
}

/* Read all chunk headers of the file and extend the span. *END_NS is unchanged if there is no chunk. */
static void recording_path_span(const struct selection *selection, struct recording_path *path,
				int64_t *start_ns, int64_t *end_ns)
{
	struct source *source, *next;
	struct jfr_header header;
	struct jfr_error error;
	uint64_t offset;
	int64_t end;

	path->start_ns = INT64_MAX;
	if (source_open(&source, path->path))
		return;
	for (; source; source = next) {
		next = source->next;
		for (offset = 0;
		     source_is_selected(selection, source) &&
		     !jfr_header_read(&header, source->data, source->length, offset, &error);
		     offset += header.size) {
			if (header.start_ns < path->start_ns)
				path->start_ns = header.start_ns;
			if (header.start_ns < *start_ns)
				*start_ns = header.start_ns;
			if (__builtin_add_overflow(header.start_ns, header.duration_ns, &end))
				end = header.start_ns;
			if (end > *end_ns)
				*end_ns = end;
		}
		source_close(source);
	}
}

bool recordings_span(struct recordings *r, int64_t *start_ns, int64_t *end_ns)
{
	*start_ns = INT64_MAX;
	*end_ns = INT64_MIN;
	for (uint32_t i = 0; i < r->count; i++)
		recording_path_span(r->selection, &r->list[i], start_ns, end_ns);
	return *start_ns != INT64_MAX;
}

void recordings_sort(struct recordings *r)
{
	int64_t start, end;

	if (r->count > 1 && recordings_span(r, &start, &end))
		qsort(r->list, r->count, sizeof(*r->list), compare_start);
}

void recordings_free(struct recordings *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->list[i].path);
	free(r->list);
	intern_free(&r->added);
	*r = (struct recordings){ 0 };
}
