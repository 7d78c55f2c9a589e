/* Conversion of a captured recording. */
#include "endpoint/profile_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/memory/account.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/profile.h"
#include "profile/aggregate/retained.h"
#include "profile/flamegraph/flamegraph_write.h"
#include "profile/pprof/pprof_write.h"
#include "profile/waits/wait_text.h"

static void query_set_time(struct query *query, const struct profile_options *options)
{
	if (options->is_retained)
		return;
	query->from = (struct moment){ .kind = MOMENT_ABSOLUTE, .ns = options->from_ns };
	query->to = (struct moment){ .kind = MOMENT_ABSOLUTE, .ns = options->to_ns };
}

/* Remove samples of other metrics: retained_read() adds samples of both memory metrics. */
static void profile_filter_metric(struct profile *profile, enum metric metric)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < profile->count; i++)
		if (profile->samples[i].metric == (uint32_t)metric)
			profile->samples[kept++] = profile->samples[i];
	profile->count = kept;
}

static int recording_read(struct profile *profile, struct memory_feed *feed,
			  const struct profile_options *options)
{
	struct query query = QUERY_INIT;
	int err;

	query.jobs = 1;
	query.places = options->format == PROFILE_PPROF;
	query.lines = query.places;
	query.contexts = query.places || options->format == PROFILE_FLAMEGRAPH;
	if (options->is_per_thread)
		query.waits = WAIT_PARTS_OWNER;
	else if (query.places)
		query.waits = WAIT_PARTS_OBJECT;
	else if (options->format == PROFILE_FLAMEGRAPH)
		query.waits = WAIT_PARTS_KIND;
	query.newest = options->is_per_thread;
	query_set_time(&query, options);
	if (!options->is_retained)
		return profile_read(profile, &query, &feed->feed, metric_mask(options->metric));
	err = retained_read(profile, &query, &feed->feed);
	if (options->format == PROFILE_TEXT)
		profile_filter_metric(profile, options->metric);
	return err == -ENOENT ? 0 : err;
}

static int pprof_output_write(FILE *file, const struct profile *profile, struct memory_feed *feed)
{
	struct libraries libraries = { 0 };
	int err;

	if (!feed->feed.calls->restart(&feed->feed, false))
		libraries_read(&libraries, &feed->feed);
	err = pprof_write(file, profile, &libraries);
	libraries_free(&libraries);
	return err;
}

static double sample_weight(const struct sample *s)
{
	return metric_is_memory(s->metric) ? s->total : s->count;
}

static int compare_weights(const void *a, const void *b)
{
	double one = sample_weight(*(const struct sample *const *)a);
	double two = sample_weight(*(const struct sample *const *)b);

	return one < two ? 1 : one > two ? -1 : 0;
}

/* Write the thread of S, what it does, and its stack. */
static void text_write_thread(FILE *file, const struct profile *p,
			      const struct thread_index *threads, const struct sample *s)
{
	const uint32_t *frames = intern_key(&p->stacks, s->stack);
	uint32_t depth = s->stack ? intern_length(&p->stacks, s->stack) / sizeof(*frames) : 0;
	struct buf wait = BUF_INIT(1u << 16);
	char name[256];

	profile_thread_name(p, s->thread, name, sizeof(name));
	wait_append_text(&wait, p, threads, s);
	fprintf(file, "%s%s%.*s\n", name, wait.length ? " " : "", (int)wait.length,
		wait.length ? (const char *)wait.data : "");
	for (uint32_t i = 0; i < depth; i++)
		fprintf(file, "    %s\n", profile_frame_name(p, frames[i]));
	fputs("\n", file);
	buf_free(&wait);
}

static void text_write_stack(FILE *file, const struct profile *p, const struct sample *s)
{
	const uint32_t *frames = intern_key(&p->stacks, s->stack);
	uint32_t depth = s->stack ? intern_length(&p->stacks, s->stack) / sizeof(*frames) : 0;

	for (uint32_t i = depth; i--;)
		fprintf(file, "%s%s", profile_frame_name(p, frames[i]), i ? ";" : "");
	fprintf(file, "%s %.0f\n", depth ? "" : "[no stack]", sample_weight(s));
}

static int text_write(FILE *file, const struct profile *p, bool is_per_thread)
{
	const struct sample **list = calloc(p->count + 1, sizeof(*list));
	struct thread_index threads = { 0 };
	int err = list ? 0 : -ENOMEM;

	if (!err && is_per_thread)
		err = thread_index_open(&threads, p);
	for (uint32_t i = 0; !err && i < p->count; i++)
		list[i] = &p->samples[i];
	if (!err)
		qsort(list, p->count, sizeof(*list), compare_weights);
	for (uint32_t i = 0; !err && i < p->count && !ferror(file); i++) {
		if (is_per_thread)
			text_write_thread(file, p, &threads, list[i]);
		else
			text_write_stack(file, p, list[i]);
	}
	thread_index_free(&threads);
	free(list);
	return err;
}

static int flamegraph_output_write(FILE *file, struct profile *profile, enum metric metric)
{
	struct flamegraph graph = { .profile = profile,
				    .metric = profile_choose_metric(profile, metric),
				    .title = "asprof-agent" };

	graph.by_total = metric_is_memory(graph.metric);
	return flamegraph_write(file, &graph) ? -ENOMEM : 0;
}

static int profile_write_format(FILE *file, struct profile *profile, struct memory_feed *feed,
				const struct profile_options *options)
{
	if (options->format == PROFILE_TEXT)
		return text_write(file, profile, options->is_per_thread);
	if (options->format == PROFILE_FLAMEGRAPH)
		return flamegraph_output_write(file, profile, options->metric);
	return pprof_output_write(file, profile, feed);
}

/* Add a sample of weight 0 for each metric of an empty profile, and set its periods. Readers reject a profile without
 * sample types, and Parca crashes on one without a period. */
static void profile_add_empty_metrics(struct profile *profile,
				      const struct profile_options *options)
{
	profile_update_periods(profile, &options->configured);
	profile_add(profile, 0, 0, options->metric, 0, 0);
	if (options->is_retained)
		profile_add(profile, 0, 0, METRIC_LIVE, 0, 0);
}

/* True if a sample of P from index I on is from THREAD. */
static bool profile_has_thread(const struct profile *p, uint32_t i, uint32_t thread)
{
	while (i < p->count && p->samples[i].thread != thread)
		i++;
	return i < p->count;
}

/* Keep only the last sample of each thread, which is the newest one, and count it once. */
static void profile_keep_newest(struct profile *p)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		struct sample one = p->samples[i];

		if (profile_has_thread(p, i + 1, one.thread))
			continue;
		one.total /= one.count;
		one.count = 1;
		p->samples[kept++] = one;
	}
	p->count = kept;
}

/* A stream into a bounded buffer: a short recording may expand to a long text. */
struct buf_stream {
	struct buf *out;
	int err;
};

static ssize_t buf_stream_write(void *cookie, const char *data, size_t length)
{
	struct buf_stream *stream = cookie;

	if (!stream->err)
		stream->err = buf_append(stream->out, data, length);
	return stream->err ? 0 : (ssize_t)length;
}

static int profile_convert(struct buf *out, struct memory_feed *feed,
			   const struct profile_options *options)
{
	struct profile profile = PROFILE_INIT;
	struct buf_stream stream = { .out = out };
	FILE *file =
		fopencookie(&stream, "w", (cookie_io_functions_t){ .write = buf_stream_write });
	bool empty;
	int err = -ENOMEM;

	if (!file)
		return err;
	err = recording_read(&profile, feed, options);
	if (!err && options->is_per_thread)
		profile_keep_newest(&profile);
	empty = !profile.count;
	if (!err && empty && options->format == PROFILE_PPROF)
		profile_add_empty_metrics(&profile, options);
	if (!err)
		err = profile_write_format(file, &profile, feed, options);
	if (fclose(file) && !err)
		err = -ENOMEM;
	if (stream.err)
		err = stream.err;
	if (!err && empty)
		err = -ENODATA;
	profile_free(&profile);
	return err;
}

int profile_output_write(struct buf *out, int fd, const struct profile_options *options)
{
	struct memory_feed feed;
	struct stat st;
	size_t size;
	void *data;
	int err;

	if (fstat(fd, &st))
		return -errno;
	size = (size_t)st.st_size;
	/* Meanwhile the file's bytes count as mapped. */
	memory_add_capture(-(int64_t)size);
	data = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	err = data == MAP_FAILED ? -errno : 0;
	if (!err) {
		memory_feed_init(&feed, data, size);
		err = profile_convert(out, &feed, options);
		if (data)
			munmap(data, size);
	}
	memory_add_capture((int64_t)size);
	return err;
}
