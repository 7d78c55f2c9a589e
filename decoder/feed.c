/* Where recordings come from, and the queue of their chunks. */
#include "decoder/feed.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "decoder/jfr_meta.h"
#include "decoder/room.h"
#include "decoder/say.h"
#include "decoder/source.h"

#define DIRECTORY_DEPTH 16
#define PROGRESS_NS     1000000000u

struct feed_path {
	char *path;
	int64_t start_ns;
	uint64_t bytes;
};

struct feed {
	pthread_mutex_t lock;
	struct feed_path *paths;
	uint32_t count, room, next;
	struct source *current; /* the one being handed out, and what follows it */
	uint64_t offset;
	struct settings settings;
	bool failed;

	bool terminal, shown;
	uint64_t started_ns, shown_ns, bytes, chunks;
};

static int add_path(struct feed *feed, const char *path)
{
	struct feed_path *paths = room_for(feed->paths, &feed->room, feed->count, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	feed->paths = paths;
	paths[feed->count].path = strdup(path);
	if (!paths[feed->count].path)
		return -ENOMEM;
	feed->count++;
	return 0;
}

static bool is_recording(const char *name)
{
	size_t length = strlen(name);

	return *name != '.' && length > 4 &&
	       (!strcmp(name + length - 4, ".jfr") || !strcmp(name + length - 4, ".zip"));
}

/* A directory stands for the recordings in it and below it, in the order of their names. */
static int add_directory(struct feed *feed, const char *path, int depth)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, NULL, alphasort), err = 0;
	char child[4096];
	struct stat status;

	if (count < 0) {
		say("%s: %s", path, strerror(errno));
		feed->failed = true;
		return 0;
	}
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (!err && *name != '.' &&
		    (size_t)snprintf(child, sizeof(child), "%s/%s", path, name) < sizeof(child) &&
		    !stat(child, &status)) {
			if (S_ISDIR(status.st_mode) && depth < DIRECTORY_DEPTH)
				err = add_directory(feed, child, depth + 1);
			else if (S_ISREG(status.st_mode) && is_recording(name))
				err = add_path(feed, child);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int add_all(struct feed *feed, char **paths, int count)
{
	struct stat status;
	size_t before;
	int err = 0;

	for (int i = 0; i < count && !err; i++) {
		before = feed->count;
		if (strcmp(paths[i], "-") && !stat(paths[i], &status) && S_ISDIR(status.st_mode)) {
			err = add_directory(feed, paths[i], 0);
			if (!err && feed->count == before && !feed->failed) {
				say("%s: no recording in this directory", paths[i]);
				feed->failed = true;
			}
		} else {
			err = add_path(feed, paths[i]);
		}
	}
	return err;
}

void settings_read(struct settings *settings, const struct jfr_chunk *chunk,
		   const struct jfr_event *event)
{
	struct buf name = BUF_INIT(256), text = BUF_INIT(4096);
	struct jfr_value value;
	const char *key, *setting;

	if (!jfr_event_get(chunk, event, "name", &value) || !jfr_string(chunk, &value, &name) ||
	    !jfr_event_get(chunk, event, "value", &value) || !jfr_string(chunk, &value, &text))
		goto out;
	key = buf_string(&name);
	setting = buf_string(&text);
	if (!key || !setting)
		goto out;
	if (!strcmp(key, "interval"))
		settings->cpu_interval_ns = strtoll(setting, NULL, 10);
	else if (!strcmp(key, "wall"))
		settings->wall_interval_ns = strtoll(setting, NULL, 10);
	else if (!strcmp(key, "nativemem"))
		settings->mem_interval = strtoll(setting, NULL, 10);
	else if (!strcmp(key, "clock"))
		snprintf(settings->clock, sizeof(settings->clock), "%s", setting);
	else if (!strcmp(key, "engine"))
		snprintf(settings->engine, sizeof(settings->engine), "%s", setting);
	else if (!strcmp(key, "version"))
		snprintf(settings->version, sizeof(settings->version), "%s", setting);
	else if (!strcmp(key, "event"))
		snprintf(settings->event, sizeof(settings->event), "%s", setting);
out:
	buf_free(&name);
	buf_free(&text);
}

/* The settings stand among the first events of a recording. */
#define SETTINGS_WITHIN 1000

static void read_settings(struct feed *feed, const struct source *source)
{
	struct jfr_chunk chunk = { 0 };
	struct jfr_error error;
	struct jfr_event event;
	struct jfr_scan scan;
	int left = SETTINGS_WITHIN;

	if (jfr_header(&chunk.header, source->data, source->length, 0, &error))
		return;
	chunk.data = source->data;
	if (!jfr_meta_read(&chunk)) {
		jfr_scan(&scan, &chunk, ~0u);
		while (left-- && jfr_next(&scan, &event))
			if (event.kind == JFR_SETTING)
				settings_read(&feed->settings, &chunk, &event);
	}
	jfr_meta_free(&chunk);
}

static int by_start(const void *a, const void *b)
{
	const struct feed_path *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Look at all headers of the file; *END is left alone where there is none. */
static void path_span(struct feed_path *path, int64_t *start_ns, int64_t *end_ns)
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

bool feed_span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	*start_ns = INT64_MAX;
	*end_ns = INT64_MIN;
	for (size_t i = 0; i < feed->count; i++)
		path_span(&feed->paths[i], start_ns, end_ns);
	return *start_ns != INT64_MAX;
}

int feed_open(struct feed **out, char **paths, int count, bool ordered)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	int64_t start, end;
	int err;

	if (!feed)
		return -ENOMEM;
	pthread_mutex_init(&feed->lock, NULL);
	feed->terminal = isatty(STDERR_FILENO) == 1;
	feed->started_ns = clock_monotonic_ns();
	source_guard();
	err = add_all(feed, paths, count);
	if (err) {
		feed_close(feed);
		return err;
	}
	if (ordered && feed->count > 1 && feed_span(feed, &start, &end))
		qsort(feed->paths, feed->count, sizeof(*feed->paths), by_start);
	*out = feed;
	return 0;
}

static void release_source(struct source *source)
{
	if (!--source->references)
		source_close(source);
}

/* Go on to the next source. False when there is none. Under the lock. */
static bool next_source(struct feed *feed)
{
	struct source *next;

	if (feed->current) {
		next = feed->current->next;
		release_source(feed->current);
		feed->current = next;
	}
	while (!feed->current && feed->next < feed->count) {
		if (source_open(&feed->current, feed->paths[feed->next].path)) {
			feed->failed = true;
			feed->current = NULL;
		}
		feed->next++;
	}
	if (!feed->current)
		return false;
	feed->offset = 0;
	if (feed->current->length)
		read_settings(feed, feed->current);
	return true;
}

static void show_progress(struct feed *feed, const struct feed_chunk *chunk)
{
	uint64_t now;

	feed->bytes += chunk->header.size;
	feed->chunks++;
	if (!feed->terminal)
		return;
	now = clock_monotonic_ns();
	if (now - feed->started_ns < PROGRESS_NS || now - feed->shown_ns < PROGRESS_NS / 10)
		return;
	feed->shown_ns = now;
	feed->shown = true;
	fprintf(stderr, "\r%" PRIu64 " MB read, file %u of %u\033[K", feed->bytes >> 20,
		feed->next, feed->count);
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

	for (size_t i = 0; i < feed->count && bytes < SMALL_INPUT; i++)
		if (!stat(feed->paths[i].path, &status) && S_ISREG(status.st_mode))
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
	for (size_t i = 0; i < feed->count; i++)
		free(feed->paths[i].path);
	free(feed->paths);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}
