/* A feed of files, and the queue of their chunks. */
#include "decoder/input/file_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "decoder/bucket/bucket.h"
#include "decoder/input/source_open.h"
#include "decoder/input/recordings.h"
#include "decoder/output/message.h"
#include "profile/jfr/labels.h"

#define LEFT_OUT_MAX 8
#define PROGRESS_NS  1000000000u

struct file_feed {
	struct feed feed; /* the first member: one is the other's address */
	pthread_mutex_t lock;
	struct recordings recordings;
	bool ordered;
	uint32_t next;          /* of them */
	struct source *current; /* the one being handed out, and what follows it */
	uint64_t offset;
	struct settings_tracker settings;
	struct intern left_out; /* labels of some that were not wanted */

	bool terminal, shown;
	uint64_t started_ns, shown_ns, bytes;
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
	if (feed->left_out.count < LEFT_OUT_MAX)
		intern(&feed->left_out, labels.data, labels.length);
	buf_free(&labels);
	return false;
}

const char *file_feed_excluded_labels(const struct feed *feed, unsigned number)
{
	const struct intern *left_out = &((const struct file_feed *)feed)->left_out;

	return number < left_out->count ? intern_text(left_out, number + 1) : NULL;
}

/* Go on to the next source. False when there is none. Under the lock. */
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

static void show_progress(struct file_feed *feed, const struct feed_chunk *chunk)
{
	uint64_t now;

	feed->bytes += chunk->header.size;
	if (!feed->terminal)
		return;
	now = clock_monotonic_ns();
	if (now - feed->started_ns < PROGRESS_NS || now - feed->shown_ns < PROGRESS_NS / 10)
		return;
	feed->shown_ns = now;
	feed->shown = true;
	fprintf(stderr, "\r%" PRIu64 " MB read, file %u of %u\033[K", feed->bytes >> 20, feed->next,
		feed->recordings.count);
}

static bool file_feed_read_chunk(struct file_feed *feed, struct feed_chunk *chunk)
{
	struct jfr_error error = { 0 };
	int err;

	while (feed->current || file_feed_next_source(feed)) {
		struct source *source = feed->current;

		err = jfr_header(&chunk->header, source->data, source->length, feed->offset,
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
			show_progress(feed, chunk);
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

static void done(struct feed *feed, struct feed_chunk *chunk)
{
	struct file_feed *files = file_feed_of(feed);

	jfr_release_pages(chunk->data, chunk->header.offset,
			  chunk->header.offset + chunk->header.size);
	pthread_mutex_lock(&files->lock);
	source_drop_reference(chunk->source);
	pthread_mutex_unlock(&files->lock);
	chunk->source = NULL;
}

static void damage(struct feed *feed, const struct feed_chunk *chunk, const struct jfr_error *error)
{
	struct file_feed *files = file_feed_of(feed);

	pthread_mutex_lock(&files->lock);
	message_print_damage(chunk->file, error);
	feed->failed = true;
	pthread_mutex_unlock(&files->lock);
}

static bool span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	return recordings_span(&file_feed_of(feed)->recordings, start_ns, end_ns);
}

/* Less than this is read before a thread is there. */
#define SMALL_INPUT (4u << 20)

static bool is_small(struct feed *feed)
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

static int restart(struct feed *feed, bool ordered)
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
	files->started_ns = clock_monotonic_ns();
	return 0;
}

static const struct feed_calls calls = {
	.restart = restart,
	.next = file_feed_next_chunk,
	.done = done,
	.damage = damage,
	.span = span,
	.is_small = is_small,
};

int file_feed_open(struct feed **out, const struct selection *selection, char **paths, int count)
{
	struct file_feed *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->feed.calls = &calls;
	pthread_mutex_init(&files->lock, NULL);
	files->terminal = isatty(STDERR_FILENO) == 1;
	files->recordings.selection = selection;
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
	if (files->shown)
		fputs("\r\033[K", stderr);
	file_feed_drop_sources(files);
	recordings_free(&files->recordings);
	intern_free(&files->left_out);
	pthread_mutex_destroy(&files->lock);
	free(files);
}
