/* Reader of profiles: several threads take chunks and add them to their own profiles, which are
 * merged at the end. */
#include "profile/aggregate/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/aggregate/event_weight.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/heap.h"
#include "profile/aggregate/resolve.h"
#include "profile/aggregate/resolve_wait.h"
#include "profile/aggregate/tally.h"

struct worker {
	struct profile profile;
	struct tallies tallies;
	struct tallies newest; /* last sample of each thread, with query->newest */
	const struct query *query;
	struct period period;
	uint32_t metrics, kinds;
	uint64_t parts; /* for event_parts() */
	const struct wait_looks *looks;
};

static const struct {
	enum metric metric;
	uint32_t kinds;
} metric_kinds[] = {
	{ METRIC_CPU, JFR_MASK(JFR_EXECUTION_SAMPLE) | JFR_MASK(JFR_WALL_SAMPLE) },
	{ METRIC_WALL, JFR_MASK(JFR_EXECUTION_SAMPLE) | JFR_MASK(JFR_WALL_SAMPLE) },
	{ METRIC_MALLOC, JFR_MASK(JFR_MALLOC) },
	{ METRIC_OBJECT, JFR_MASK(JFR_OBJECT) },
	{ METRIC_LIVE_OBJECT, JFR_MASK(JFR_LIVE_OBJECT) },
	{ METRIC_LOCK, JFR_MASK(JFR_LOCK) },
};

/* Add to a sum of a recording, which may have any numbers. */
static void add_limited(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

static bool worker_add_event(struct worker *w, const struct tally *one, int64_t time)
{
	struct tally *sum = tallies_get(&w->tallies, &one->key);

	if (!sum)
		return false;
	if (time > sum->newest)
		sum->newest = time;
	add_limited(&sum->count, one->count);
	add_limited(&sum->total, one->total);
	sum->scaled_count += one->scaled_count;
	sum->scaled_total += one->scaled_total;
	sum->count_variance += one->count_variance;
	sum->total_variance += one->total_variance;
	return true;
}

/* Add ONE with its time in milliseconds. A wall-clock event stands for several samples, at intervals
 * from its time on, as in async-profiler. */
static bool worker_add_event_at(struct worker *w, const struct settings *settings,
				const struct jfr_chunk *chunk, double factor, struct tally one,
				int64_t time)
{
	int64_t start_ns = ticks_to_ns_by(&chunk->header, factor, time), count = one.count;
	int64_t interval_ns =
		settings->wall_interval_ns ? settings->wall_interval_ns : settings->cpu_interval_ns;
	int64_t parts = one.key.metric != METRIC_WALL ? 1 : event_parts(count, &w->parts);
	uint64_t before = 0;
	bool ok = true;

	if (interval_ns <= 0 || interval_ns > INT64_C(60) * 1000000000)
		interval_ns = 50000000;
	for (int64_t i = 0; i < parts && ok; i++) {
		struct tally part = one;

		part.key.time_ms =
			(int64_t)((uint64_t)start_ns + before * (uint64_t)interval_ns) / 1000000;
		if (parts > 1) {
			part.count = count / parts + (i < count % parts);
			part.scaled_count = (double)part.count;
		}
		before += (uint64_t)part.count;
		ok = worker_add_event(w, &part, time);
	}
	return ok;
}

/* Add the keys of EVENT's wait to its KEY, with OWNERS that of the owner's stack. */
static void key_set_wait(struct tally_key *key, struct resolve *resolve,
			 const struct settings *settings, const struct jfr_event *event,
			 bool owners)
{
	int64_t within_ns = resolve_looks_within_ns(settings);

	key->wait = resolve_wait_key(resolve, event, within_ns);
	if (owners)
		key->owner_stack = resolve_owner_stack_key(resolve, event, key->wait, within_ns);
	key->state = (uint32_t)event->slot[JFR_STATE];
}

static bool worker_tally_chunk(struct worker *w, struct resolve *resolve, struct settings *settings)
{
	struct jfr_chunk *chunk = resolve->chunk;
	struct jfr_event event;
	struct jfr_scan scan;
	struct tally one;
	int64_t from, to;
	double factor = ns_per_tick(&chunk->header);
	bool ok = true;
	bool inside = period_covers(&w->period, &chunk->header, &from, &to);
	bool contexts = w->query->contexts || filter_wants_contexts(w->query);
	bool waits = query_wants_waits(w->query);

	period_ticks(&w->period, &chunk->header, &from, &to);
	jfr_scan_start(&scan, chunk,
		       w->kinds | JFR_MASK(JFR_SETTING) | JFR_MASK(JFR_LOSSES) |
			       JFR_MASK(JFR_COST));
	while (ok && jfr_scan_next(&scan, &event)) {
		if (event.kind == JFR_SETTING) {
			settings_read_event(settings, chunk, &event);
			continue;
		}
		if (event.kind == JFR_LOSSES) {
			if (inside)
				losses_read(&w->profile.losses, chunk, &event);
			continue;
		}
		if (event.kind == JFR_COST) {
			if (inside)
				costs_read(&w->profile.losses.costs, chunk, &event);
			continue;
		}
		if (event.slot[JFR_TIME] < from || event.slot[JFR_TIME] > to ||
		    !event_weigh(resolve, settings, &event, &one) ||
		    !(w->metrics & 1u << one.key.metric))
			continue;
		if (contexts)
			one.key.context = (uint64_t)event.slot[JFR_CONTEXT];
		if (waits && (one.key.metric == METRIC_WALL || event.slot[JFR_WAIT]))
			key_set_wait(&one.key, resolve, settings, &event,
				     w->query->waits == WAIT_PARTS_OWNER);
		if (w->query->times)
			ok = worker_add_event_at(w, settings, chunk, factor, one,
						 event.slot[JFR_TIME]);
		else
			ok = worker_add_event(w, &one, event.slot[JFR_TIME]);
	}
	return ok;
}

/* Find the time of each thread's last sample. */
static bool worker_find_newest(struct worker *w)
{
	tallies_clear(&w->newest);
	for (uint32_t i = 0; i < w->tallies.count; i++) {
		const struct tally *t = &w->tallies.list[i];
		struct tally *thread =
			tallies_get(&w->newest, &(struct tally_key){ .thread = t->key.thread,
								     .metric = t->key.metric });
		if (!thread)
			return false;
		if (t->newest > thread->newest)
			thread->newest = t->newest;
	}
	return true;
}

static bool tally_is_newest(struct worker *w, const struct tally *t)
{
	const struct tally *thread =
		tallies_get(&w->newest, &(struct tally_key){ .thread = t->key.thread,
							     .metric = t->key.metric });

	return thread && t->newest == thread->newest;
}

/* Set the totals of SAMPLE to those of T, and add it. */
static void worker_add_weights(struct worker *w, struct sample *sample, const struct tally *t,
			       const struct jfr_header *header, const struct settings *settings)
{
	if (w->query->weighted && t->key.metric == METRIC_MALLOC) {
		sample->count = t->scaled_count;
		sample->total = t->scaled_total;
		sample->count_variance = t->count_variance;
		sample->total_variance = t->total_variance;
		profile_add_sample(&w->profile, sample);
		return;
	}
	sample->count = (double)t->count;
	sample->total = tally_total(t, header, settings);
	profile_add_equal(&w->profile, sample);
}

/* Returns the ID of T's wait; 0 if it is unknown or not wanted. */
static uint32_t worker_resolve_wait(const struct worker *w, struct resolve *resolve,
				    const struct tally *t)
{
	if ((t->key.metric != METRIC_WALL && !t->key.wait) || !query_wants_waits(w->query))
		return 0;
	return resolve_wait(resolve, &(struct stored_wait){ .wait = t->key.wait,
							    .owner_stack = t->key.owner_stack,
							    .state = t->key.state,
							    .stack = t->key.stack });
}

/* Returns the class that T's stack ends with. */
static uint64_t shown_class(const struct query *query, const struct tally *t)
{
	return query->lock_places && t->key.metric == METRIC_LOCK ? 0 : t->key.class;
}

static void worker_add_tallies(struct worker *w, struct resolve *resolve,
			       const struct settings *settings)
{
	struct filter filter = { .query = w->query,
				 .profile = &w->profile,
				 .labels = resolve->labels };

	for (uint32_t i = 0; i < w->tallies.count; i++) {
		const struct tally *t = &w->tallies.list[i];
		struct sample sample = { .metric = t->key.metric, .time_ms = t->key.time_ms };

		if (w->query->newest && !tally_is_newest(w, t))
			continue;
		sample.thread = resolve_thread(resolve, t->key.thread);
		sample.context = resolve_context(resolve, t->key.context);
		sample.wait = worker_resolve_wait(w, resolve, t);
		if (!filter_thread(&filter, sample.thread) ||
		    !filter_context(&filter, sample.context) || !filter_wait(&filter, sample.wait))
			continue;
		if (!w->query->contexts)
			sample.context = 0;
		if (!w->query->waits)
			sample.wait = 0;
		sample.stack = resolve_stack(resolve, t->key.stack, shown_class(w->query, t),
					     (enum jfr_frame_type)t->key.leaf);
		if (filter_stack(&filter, sample.stack, sample.thread))
			worker_add_weights(w, &sample, t, &resolve->chunk->header, settings);
	}
	filter_free(&filter);
}

static void worker_read_chunk(struct worker *w, struct feed *feed, struct feed_chunk *from)
{
	struct jfr_chunk chunk;
	struct resolve resolve;
	int err = jfr_chunk_open(&chunk, from->data, &from->header);

	if (err) {
		w->profile.out_of_memory |= err != -EBADMSG;
		if (err == -EBADMSG)
			feed->calls->damage(feed, from, &chunk.error);
		return;
	}
	period_add_chunk(&w->period, &w->profile, &from->header);
	chunk.is_mapped_file = !from->in_memory;
	tallies_clear(&w->tallies);
	resolve_open(&resolve, &w->profile, w->query, &chunk, from);
	resolve_use_looks(&resolve, w->looks, from);
	if (w->query->waits == WAIT_PARTS_OWNER)
		w->profile.out_of_memory |=
			resolve_read_stacks(&resolve, resolve_looks_within_ns(&from->settings)) !=
			0;
	w->profile.out_of_memory |= !worker_tally_chunk(w, &resolve, &from->settings) ||
				    (w->query->newest && !worker_find_newest(w));
	if (chunk.error.what)
		feed->calls->damage(feed, from, &chunk.error);
	worker_add_tallies(w, &resolve, &from->settings);
	profile_update_periods(&w->profile, &from->settings);
	resolve_close(&resolve);
	jfr_chunk_close(&chunk);
}

static void worker_run(struct feed *feed, void *state)
{
	struct worker *w = state;
	struct feed_chunk from;

	while (feed->calls->next(feed, &from)) {
		worker_read_chunk(w, feed, &from);
		feed->calls->done(feed, &from);
	}
}

static int read_samples(struct profile *profile, const struct query *query, struct feed *feed,
			uint32_t metrics, uint32_t kinds, const struct wait_looks *looks)
{
	unsigned jobs = feed_jobs(feed, query->jobs);
	struct worker *workers = calloc(jobs, sizeof(*workers));
	struct period period;

	if (!workers || feed->calls->restart(feed, false)) {
		free(workers);
		return -ENOMEM;
	}
	if (period_resolve(&period, query, feed))
		period = (struct period){ INT64_MIN, INT64_MAX };
	for (unsigned i = 0; i < jobs; i++)
		workers[i] = (struct worker){ .profile = PROFILE_INIT,
					      .query = query,
					      .period = period,
					      .metrics = metrics,
					      .kinds = kinds,
					      .looks = looks };
	feed_run(feed, jobs, worker_run, workers, sizeof(*workers));
	profile_free(profile);
	*profile = workers[0].profile;
	for (unsigned i = 0; i < jobs; i++) {
		if (i) {
			profile_merge(profile, &workers[i].profile);
			profile_free(&workers[i].profile);
		}
		tallies_free(&workers[i].tallies);
		tallies_free(&workers[i].newest);
	}
	free(workers);
	return feed_result(feed, profile->out_of_memory);
}

static int read_samples_with_looks(struct profile *profile, const struct query *query,
				   struct feed *feed, uint32_t metrics, uint32_t kinds)
{
	struct wait_looks looks;
	int err = wait_looks_read(&looks, query, feed);

	if (!err)
		err = read_samples(profile, query, feed, metrics, kinds,
				   looks.count ? &looks : NULL);
	wait_looks_free(&looks);
	return err;
}

/* Live memory is known only after all events in time order, so it needs its own pass over the
 * files. */
static void add_live_part(void *arg)
{
	struct heap *heap = arg;

	heap_add_to_profile(heap, heap->query->leak ? heap->query->tail : 0);
}

static int read_live(struct profile *profile, const struct query *query, struct feed *feed)
{
	struct heap heap = { .query = query,
			     .feed = feed,
			     .want_snapshots = query->retained,
			     .on_part = add_live_part,
			     .arg = &heap };
	int err = heap_read(&heap);

	if (profile->losses.is_known) /* they were added up with the other metrics */
		heap.profile.losses = (struct losses){ 0 };
	profile_merge(profile, &heap.profile);
	heap_free(&heap);
	return err;
}

int profile_read(struct profile *profile, const struct query *query, struct feed *feed,
		 uint32_t metrics)
{
	uint32_t kinds = 0;
	int err = 0;

	*profile = (struct profile)PROFILE_INIT;
	for (size_t i = 0; i < sizeof(metric_kinds) / sizeof(metric_kinds[0]); i++)
		if (metrics & 1u << metric_kinds[i].metric)
			kinds |= metric_kinds[i].kinds;
	/* Read Java's live objects only if there is no live native memory. */
	if (metrics == metric_mask(METRIC_LIVE)) {
		err = read_live(profile, query, feed);
		if (profile->count)
			return err;
		metrics = 1u << METRIC_LIVE_OBJECT;
	}
	if (kinds && err != -ENOMEM)
		err = read_samples_with_looks(profile, query, feed, metrics, kinds);
	if (metrics & 1u << METRIC_LIVE && err != -ENOMEM)
		err = read_live(profile, query, feed);
	return err;
}
