/* Where recordings come from, and the queue of their chunks. */
#include "profile/aggregate/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "decoder/input/recordings.h"
#include "decoder/input/selection.h"
#include "decoder/input/source.h"
#include "decoder/output/say.h"
#include "profile/jfr/labels.h"

#define LEFT_OUT_MAX 8
#define PROGRESS_NS  1000000000u

struct feed {
	pthread_mutex_t lock;
	struct recordings recordings;
	uint32_t next;          /* of them */
	struct source *current; /* the one being handed out, and what follows it */
	uint64_t offset;
	struct settings settings;
	bool failed;
	struct intern left_out; /* labels of some that were not wanted */

	bool terminal, shown;
	uint64_t started_ns, shown_ns, bytes;
};

bool feed_span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	return recordings_span(&feed->recordings, start_ns, end_ns);
}

int feed_open(struct feed **out, const struct args *args, char **paths, int count, bool ordered)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	int err;

	if (!feed)
		return -ENOMEM;
	pthread_mutex_init(&feed->lock, NULL);
	feed->terminal = isatty(STDERR_FILENO) == 1;
	feed->started_ns = clock_monotonic_ns();
	feed->recordings.args = args;
	source_guard();
	err = recordings_find(&feed->recordings, paths, count);
	if (err) {
		feed_close(feed);
		return err;
	}
	feed->failed = feed->recordings.failed;
	if (ordered)
		recordings_order(&feed->recordings);
	*out = feed;
	return 0;
}

static void release_source(struct source *source)
{
	if (!--source->references)
		source_close(source);
}

static void drop_current(struct feed *feed)
{
	struct source *next = feed->current->next;

	release_source(feed->current);
	feed->current = next;
}

static bool open_next(struct feed *feed)
{
	while (feed->next < feed->recordings.count) {
		if (!source_open(&feed->current, feed->recordings.list[feed->next++].path))
			return true;
		feed->failed = true;
		feed->current = NULL;
	}
	return false;
}

static bool is_wanted(struct feed *feed, const struct source *source)
{
	const struct args *args = feed->recordings.args;
	struct buf labels = BUF_INIT(1u << 17);

	if (!args || selection_has(args, source))
		return true;
	labels_of(&labels, source->name, source->labels);
	for (size_t i = 0; i < labels.length; i++)
		if (labels.data[i] == '\n')
			labels.data[i] = ' ';
	if (feed->left_out.count < LEFT_OUT_MAX)
		intern(&feed->left_out, labels.data, labels.length);
	buf_free(&labels);
	return false;
}

const char *feed_left_out(const struct feed *feed, unsigned number)
{
	return number < feed->left_out.count ? intern_text(&feed->left_out, number + 1) : NULL;
}

/* Go on to the next source. False when there is none. Under the lock. */
static bool next_source(struct feed *feed)
{
	if (feed->current)
		drop_current(feed);
	for (;;) {
		if (!feed->current && !open_next(feed))
			return false;
		if (source_load(feed->current))
			feed->failed = true;
		else if (is_wanted(feed, feed->current))
			break;
		drop_current(feed);
	}
	feed->offset = 0;
	if (feed->current->length)
		settings_of(&feed->settings, feed->current->data, feed->current->length);
	return true;
}

static void show_progress(struct feed *feed, const struct feed_chunk *chunk)
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

static bool take_chunk(struct feed *feed, struct feed_chunk *chunk)
{
	struct jfr_error error = { 0 };
	int err;

	while (feed->current || next_source(feed)) {
		struct source *source = feed->current;

		err = jfr_header(&chunk->header, source->data, source->length, feed->offset,
				 &error);
		if (!err) {
			source->references++;
			chunk->source = source;
			chunk->file = source->name;
			chunk->labels = source->labels;
			chunk->data = source->data;
			chunk->settings = feed->settings;
			feed->offset += chunk->header.size;
			show_progress(feed, chunk);
			return true;
		}
		if (err == -EBADMSG || !source->length) {
			if (!source->length)
				error = (struct jfr_error){ 0, "an empty file" };
			say_damage(source->name, &error);
			feed->failed = true;
		}
		if (!next_source(feed))
			return false;
	}
	return false;
}

bool feed_next(struct feed *feed, struct feed_chunk *chunk)
{
	bool found;

	pthread_mutex_lock(&feed->lock);
	found = take_chunk(feed, chunk);
	pthread_mutex_unlock(&feed->lock);
	return found;
}

void feed_done(struct feed *feed, struct feed_chunk *chunk)
{
	source_forget(chunk->data, chunk->header.offset, chunk->header.offset + chunk->header.size);
	pthread_mutex_lock(&feed->lock);
	release_source(chunk->source);
	pthread_mutex_unlock(&feed->lock);
	chunk->source = NULL;
}

void feed_damage(struct feed *feed, const struct feed_chunk *chunk, const struct jfr_error *error)
{
	pthread_mutex_lock(&feed->lock);
	say_damage(chunk->file, error);
	feed->failed = true;
	pthread_mutex_unlock(&feed->lock);
}

bool feed_failed(const struct feed *feed)
{
	return feed->failed;
}

/* Less than this is read before a thread is there. */
#define SMALL_INPUT (4u << 20)

unsigned feed_jobs(const struct feed *feed, unsigned jobs)
{
	uint64_t bytes = 0;
	struct stat status;
	long processors;

	for (uint32_t i = 0; i < feed->recordings.count && bytes < SMALL_INPUT; i++)
		if (!stat(feed->recordings.list[i].path, &status) && S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	if (bytes < SMALL_INPUT)
		return 1;
	processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (!jobs)
		jobs = processors > 0 ? (unsigned)processors : 1;
	return jobs < FEED_JOBS_MAX ? jobs : FEED_JOBS_MAX;
}

struct job {
	pthread_t thread;
	bool started;
	struct feed *feed;
	void (*work)(struct feed *feed, void *state);
	void *state;
};

static void *job_main(void *arg)
{
	struct job *job = arg;

	job->work(job->feed, job->state);
	return NULL;
}

void feed_run(struct feed *feed, unsigned jobs, void (*work)(struct feed *feed, void *state),
	      void *states, size_t state_size)
{
	struct job threads[FEED_JOBS_MAX] = { 0 };

	for (unsigned i = 1; i < jobs; i++) {
		threads[i].feed = feed;
		threads[i].work = work;
		threads[i].state = (char *)states + i * state_size;
		threads[i].started =
			!pthread_create(&threads[i].thread, NULL, job_main, &threads[i]);
	}
	work(feed, states);
	for (unsigned i = 1; i < jobs; i++)
		if (threads[i].started)
			pthread_join(threads[i].thread, NULL);
}

void feed_close(struct feed *feed)
{
	struct source *next;

	if (feed->shown)
		fputs("\r\033[K", stderr);
	for (; feed->current; feed->current = next) {
		next = feed->current->next;
		release_source(feed->current);
	}
	recordings_free(&feed->recordings);
	intern_free(&feed->left_out);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}
