/* Feed of files: opens one source after the other, and returns their chunks. */
#include "decoder/input/file_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "decoder/bucket/bucket.h"
#include "decoder/input/source_open.h"
#include "decoder/input/recordings.h"
#include "decoder/output/message.h"
#include "decoder/output/progress.h"
#include "profile/jfr/labels.h"

#define EXCLUDED_MAX 8

struct file_feed {
	struct feed feed; /* must be first: file_feed_of() casts */
	pthread_mutex_t lock;
	struct recordings recordings;
	bool ordered;
	uint32_t next;          /* index of the next recording */
	struct source *current; /* source whose chunks are returned, and the next ones */
	uint64_t offset;
	struct settings_tracker settings;
	struct intern excluded; /* labels of some recordings that the selection excludes */

	struct progress progress;
	uint64_t bytes;
};

static struct file_feed *file_feed_of(struct feed *feed)
{
	return (struct file_feed *)feed;
}

static void source_drop_reference(struct source *source)
{
	if (!--source->references)
		source_close(source);
}

static void file_feed_drop_current(struct file_feed *feed)
{
	struct source *next = feed->current->next;

	source_drop_reference(feed->current);
	feed->current = next;
}

static bool file_feed_open_next_path(struct file_feed *feed)
{
	while (feed->next < feed->recordings.count) {
		if (!source_open(&feed->current, feed->recordings.list[feed->next++].path))
			return true;
		feed->feed.failed = true;
		feed->current = NULL;
	}
	return false;
}

static bool source_is_selected(struct file_feed *feed, const struct source *source)
{
	const struct selection *selection = feed->recordings.selection;
	struct buf labels = BUF_INIT(1u << 17);

	if (!selection || selection_matches(selection, source))
		return true;
	labels_write(&labels, source->name, source->labels);
	for (size_t i = 0; i < labels.length; i++)
		if (labels.data[i] == '\n')
			labels.data[i] = ' ';
	if (feed->excluded.count < EXCLUDED_MAX)
		intern(&feed->excluded, labels.data, labels.length);
	buf_free(&labels);
	return false;
}

const char *file_feed_excluded_labels(const struct feed *feed, unsigned number)
{
	const struct intern *excluded = &((const struct file_feed *)feed)->excluded;

	return number < excluded->count ? intern_text(excluded, number + 1) : NULL;
}

/* Advance to the next source. Returns false at the end. Lock held. */
static bool file_feed_next_source(struct file_feed *feed)
{
	if (feed->current)
		file_feed_drop_current(feed);
	for (;;) {
		if (!feed->current && !file_feed_open_next_path(feed))
			return false;
		if (source_load(feed->current))
			feed->feed.failed = true;
		else if (source_is_selected(feed, feed->current))
			break;
		file_feed_drop_current(feed);
	}
	feed->offset = 0;
	if (feed->current->length)
		settings_tracker_start(&feed->settings, feed->current->data, feed->current->length);
	return true;
}

static bool file_feed_read_chunk(struct file_feed *feed, struct feed_chunk *chunk)
{
	struct jfr_error error = { 0 };
	int err;

	while (feed->current || file_feed_next_source(feed)) {
		struct source *source = feed->current;

		err = jfr_header_read(&chunk->header, source->data, source->length, feed->offset,
				      &error);
		if (!err) {
			source->references++;
			chunk->source = source;
			chunk->file = source->name;
			chunk->labels = source->labels;
			chunk->data = source->data;
			chunk->in_memory = false;
			chunk->settings = *settings_tracker_get(&feed->settings, source->data,
								source->length, feed->offset);
			feed->offset += chunk->header.size;
			feed->bytes += chunk->header.size;
			progress_show(&feed->progress, "%" PRIu64 " MB read, file %u of %u",
				      feed->bytes >> 20, feed->next, feed->recordings.count);
			return true;
		}
		if (err == -EBADMSG || !source->length) {
			if (!source->length)
				error = (struct jfr_error){ 0, "an empty file" };
			message_print_damage(source->name, &error);
			feed->feed.failed = true;
		}
		if (!file_feed_next_source(feed))
			return false;
	}
	return false;
}

static bool file_feed_next_chunk(struct feed *feed, struct feed_chunk *chunk)
{
	struct file_feed *files = file_feed_of(feed);
	bool found;

	pthread_mutex_lock(&files->lock);
	found = file_feed_read_chunk(files, chunk);
	pthread_mutex_unlock(&files->lock);
	return found;
}

static void file_feed_release_chunk(struct feed *feed, struct feed_chunk *chunk)
{
	struct file_feed *files = file_feed_of(feed);

	jfr_release_pages(chunk->data, chunk->header.offset,
			  chunk->header.offset + chunk->header.size);
	pthread_mutex_lock(&files->lock);
	source_drop_reference(chunk->source);
	pthread_mutex_unlock(&files->lock);
	chunk->source = NULL;
}

static void file_feed_report_damage(struct feed *feed, const struct feed_chunk *chunk,
				    const struct jfr_error *error)
{
	struct file_feed *files = file_feed_of(feed);

	pthread_mutex_lock(&files->lock);
	message_print_damage(chunk->file, error);
	feed->failed = true;
	pthread_mutex_unlock(&files->lock);
}

static bool file_feed_span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	return recordings_span(&file_feed_of(feed)->recordings, start_ns, end_ns);
}

/* Smaller inputs are read without threads: starting a thread would take longer. */
#define SMALL_INPUT (4u << 20)

static bool file_feed_is_small(struct feed *feed)
{
	const struct recordings *recordings = &file_feed_of(feed)->recordings;
	uint64_t bytes = 0;
	struct stat status;

	for (uint32_t i = 0; i < recordings->count && bytes < SMALL_INPUT; i++) {
		const char *path = recordings->list[i].path;
		const struct object *object = bucket_find_object(path);

		if (object)
			bytes += object->bytes;
		else if (!stat(path, &status) && S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	}
	return bytes < SMALL_INPUT;
}

static void file_feed_drop_sources(struct file_feed *files)
{
	while (files->current)
		file_feed_drop_current(files);
}

static int file_feed_restart(struct feed *feed, bool ordered)
{
	struct file_feed *files = file_feed_of(feed);

	file_feed_drop_sources(files);
	if (ordered && !files->ordered)
		recordings_sort(&files->recordings);
	files->ordered |= ordered;
	files->next = 0;
	files->offset = 0;
	files->settings = (struct settings_tracker){ 0 };
	files->bytes = 0;
	progress_clear(&files->progress);
	progress_start(&files->progress);
	return 0;
}

static const struct feed_calls calls = {
	.restart = file_feed_restart,
	.next = file_feed_next_chunk,
	.done = file_feed_release_chunk,
	.damage = file_feed_report_damage,
	.span = file_feed_span,
	.is_small = file_feed_is_small,
};

int file_feed_open(struct feed **out, const struct selection *selection, char **paths, int count)
{
	struct file_feed *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->feed.calls = &calls;
	pthread_mutex_init(&files->lock, NULL);
	files->recordings.selection = selection;
	progress_start(&files->progress);
	source_handle_bus_errors();
	err = recordings_add_paths(&files->recordings, paths, count);
	if (err) {
		file_feed_close(&files->feed);
		return err;
	}
	files->feed.failed = files->recordings.failed;
	*out = &files->feed;
	return 0;
}

void file_feed_close(struct feed *feed)
{
	struct file_feed *files = file_feed_of(feed);

	if (!feed)
		return;
	progress_clear(&files->progress);
	file_feed_drop_sources(files);
	recordings_free(&files->recordings);
	intern_free(&files->excluded);
	pthread_mutex_destroy(&files->lock);
	free(files);
}
