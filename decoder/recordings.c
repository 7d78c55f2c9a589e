/* The recordings that a command line names. */
#include "decoder/recordings.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "decoder/jfr_read.h"
#include "decoder/room.h"
#include "decoder/say.h"
#include "decoder/source.h"

#define DIRECTORY_DEPTH 16

static int add_path(struct recordings *r, const char *path)
{
	struct recording_path *list = room_for(r->list, &r->room, r->count, sizeof(*list));

	if (!list)
		return -ENOMEM;
	r->list = list;
	list[r->count].path = strdup(path);
	if (!list[r->count].path)
		return -ENOMEM;
	r->count++;
	return 0;
}

static bool is_recording(const char *name)
{
	size_t length = strlen(name);

	return *name != '.' && length > 4 &&
	       (!strcmp(name + length - 4, ".jfr") || !strcmp(name + length - 4, ".zip"));
}

/* A directory stands for the recordings in it and below it, in the order of their names. */
static int add_directory(struct recordings *r, const char *path, int depth)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, NULL, alphasort), err = 0;
	char child[4096];
	struct stat status;

	if (count < 0) {
		say("%s: %s", path, strerror(errno));
		r->failed = true;
		return 0;
	}
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (!err && *name != '.' &&
		    (size_t)snprintf(child, sizeof(child), "%s/%s", path, name) < sizeof(child) &&
		    !stat(child, &status)) {
			if (S_ISDIR(status.st_mode) && depth < DIRECTORY_DEPTH)
				err = add_directory(r, child, depth + 1);
			else if (S_ISREG(status.st_mode) && is_recording(name))
				err = add_path(r, child);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

int recordings_find(struct recordings *r, char **paths, int count)
{
	struct stat status;
	uint32_t before;
	int err = 0;

	for (int i = 0; i < count && !err; i++) {
		before = r->count;
		if (strcmp(paths[i], "-") && !stat(paths[i], &status) && S_ISDIR(status.st_mode)) {
			err = add_directory(r, paths[i], 0);
			if (!err && r->count == before && !r->failed) {
				say("%s: no recording in this directory", paths[i]);
				r->failed = true;
			}
		} else {
			err = add_path(r, paths[i]);
		}
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct recording_path *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Look at all headers of the file; *END is left alone where there is none. */
static void path_span(struct recording_path *path, int64_t *start_ns, int64_t *end_ns)
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
		for (offset = 0; !jfr_header(&header, source->data, source->length, offset, &error);
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
		path_span(&r->list[i], start_ns, end_ns);
	return *start_ns != INT64_MAX;
}

void recordings_order(struct recordings *r)
{
	int64_t start, end;

	if (r->count > 1 && recordings_span(r, &start, &end))
		qsort(r->list, r->count, sizeof(*r->list), by_start);
}

void recordings_free(struct recordings *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->list[i].path);
	free(r->list);
	*r = (struct recordings){ 0 };
}
