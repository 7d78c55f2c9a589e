/* From a recording that was taken to what was asked for. */
#include "endpoint/profile_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/profile.h"
#include "profile/aggregate/retained.h"
#include "profile/aggregate/tree.h"
#include "profile/flamegraph/flamegraph_write.h"
#include "profile/pprof/pprof_write.h"

static void query_set_time(struct query *query, const struct profile_wish *wish)
{
	if (wish->retained)
		return;
	query->from = (struct moment){ .kind = MOMENT_ABSOLUTE, .ns = wish->from_ns };
	query->to = (struct moment){ .kind = MOMENT_ABSOLUTE, .ns = wish->to_ns };
}

/* Of what the table says both metrics come. */
static void profile_filter_metric(struct profile *profile, enum metric metric)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < profile->count; i++)
		if (profile->samples[i].metric == (uint32_t)metric)
			profile->samples[kept++] = profile->samples[i];
	profile->count = kept;
}

static int command_read_profile(struct profile *profile, struct memory_feed *feed,
				const struct profile_wish *wish)
{
	struct query query = QUERY_INIT;
	int err;

	query.jobs = 1;
	query.places = wish->form == PROFILE_PPROF;
	query.lines = query.places;
	query.contexts = query.places;
	query.newest = wish->threads;
	query_set_time(&query, wish);
	if (!wish->retained)
		return profile_read(profile, &query, &feed->feed, metric_mask(wish->metric));
	err = retained_read(profile, &query, &feed->feed);
	if (wish->form == PROFILE_TEXT)
		profile_filter_metric(profile, wish->metric);
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

static void text_write_stack(FILE *file, const struct profile *p, const struct sample *s,
			     bool threads)
{
	const uint32_t *frames = intern_key(&p->stacks, s->stack);
	uint32_t depth = s->stack ? intern_length(&p->stacks, s->stack) / sizeof(*frames) : 0;
	char name[256];

	if (threads) {
		profile_thread_name(p, s->thread, name, sizeof(name));
		fprintf(file, "%s\n", name);
		for (uint32_t i = 0; i < depth; i++)
			fprintf(file, "    %s\n", profile_frame_name(p, frames[i]));
		fputs("\n", file);
		return;
	}
	for (uint32_t i = depth; i--;)
		fprintf(file, "%s%s", profile_frame_name(p, frames[i]), i ? ";" : "");
	fprintf(file, "%s %.0f\n", depth ? "" : "[no stack]", sample_weight(s));
}

static int text_write(FILE *file, const struct profile *p, bool threads)
{
	const struct sample **list = calloc(p->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->count; i++)
		list[i] = &p->samples[i];
	qsort(list, p->count, sizeof(*list), compare_weights);
	for (uint32_t i = 0; i < p->count; i++)
		text_write_stack(file, p, list[i], threads);
	free(list);
	return 0;
}

static int flamegraph_output_write(FILE *file, struct profile *profile, enum metric wanted)
{
	struct tree tree = { 0 };
	struct flamegraph graph = { .profile = profile,
				    .tree = &tree,
				    .metric = profile_choose_metric(profile, wanted),
				    .title = "asprof-agent" };
	int err;

	graph.by_total = metric_is_memory(graph.metric);
	err = tree_add(&tree, profile, graph.metric, graph.by_total, true);
	tree_sort(&tree, profile);
	if (!err)
		err = flamegraph_write(file, &graph);
	tree_free(&tree);
	return err ? -ENOMEM : 0;
}

static int profile_write_format(FILE *file, struct profile *profile, struct memory_feed *feed,
				const struct profile_wish *wish)
{
	if (wish->form == PROFILE_TEXT)
		return text_write(file, profile, wish->threads);
	if (wish->form == PROFILE_FLAMEGRAPH)
		return flamegraph_output_write(file, profile, wish->metric);
	return pprof_output_write(file, profile, feed);
}

/* Readers refuse a profile that says of nothing what it would be of, and Parca breaks down over one without a period. */
static void profile_add_empty_metrics(struct profile *profile, const struct profile_wish *wish)
{
	profile_update_periods(profile, &wish->configured);
	profile_add(profile, 0, 0, wish->metric, 0, 0);
	if (wish->retained)
		profile_add(profile, 0, 0, METRIC_LIVE, 0, 0);
}

/* Whether one of P's samples from I on is THREAD's. */
static bool profile_has_thread(const struct profile *p, uint32_t i, uint32_t thread)
{
	while (i < p->count && p->samples[i].thread != thread)
		i++;
	return i < p->count;
}

/* Of each thread its newest sample, which is in the last chunk that has one; each counts as one. */
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

static int profile_convert(struct buf *out, struct memory_feed *feed,
			   const struct profile_wish *wish)
{
	struct profile profile = PROFILE_INIT;
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	bool empty;
	int err = -ENOMEM;

	if (!file)
		return err;
	err = command_read_profile(&profile, feed, wish);
	if (!err && wish->threads)
		profile_keep_newest(&profile);
	empty = !profile.count;
	if (!err && empty && wish->form == PROFILE_PPROF)
		profile_add_empty_metrics(&profile, wish);
	if (!err)
		err = profile_write_format(file, &profile, feed, wish);
	if (fclose(file) && !err)
		err = -ENOMEM;
	if (!err)
		err = buf_append(out, text, length);
	if (!err && empty)
		err = -ENODATA;
	free(text);
	profile_free(&profile);
	return err;
}

int profile_output_write(struct buf *out, int fd, const struct profile_wish *wish)
{
	struct memory_feed feed;
	struct stat st;
	void *data = NULL;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (data == MAP_FAILED)
			return -errno;
	}
	if (wish->form == PROFILE_RAW) {
		err = buf_append(out, data, (size_t)st.st_size);
	} else {
		memory_feed_init(&feed, data, (uint64_t)st.st_size);
		err = profile_convert(out, &feed, wish);
	}
	if (data)
		munmap(data, (size_t)st.st_size);
	return err;
}
