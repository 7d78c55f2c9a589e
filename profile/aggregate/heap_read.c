/* Reader of native memory: a pipeline of two threads. The producer opens chunks and finds their
 * runs; the consumer processes the events in time order. For one thread, or small input, there is
 * no pipeline, and one chunk at a time is in memory. */
#include "profile/aggregate/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "profile/aggregate/filter.h"
#include "profile/aggregate/heap_order.h"
#include "profile/aggregate/resolve.h"
#include "profile/basics/array.h"
#include "profile/jfr/labels.h"

#define KINDS (JFR_MASK(JFR_MALLOC) | JFR_MASK(JFR_FREE))

/* A chunk that is passed from the producer to the consumer. */
struct prepared_chunk {
	struct feed_chunk from;
	struct jfr_chunk chunk;
	struct runs runs;
	bool open;
};

#define CHUNKS_AHEAD_MAX 2

struct pipeline {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct feed *feed;
	struct heap *heap;
	struct prepared_chunk slots[CHUNKS_AHEAD_MAX];
	unsigned put_count, taken_count;
	bool ended, out_of_memory;
};

/* State of the consumer for one chunk. */
struct reading {
	struct heap *heap;
	struct resolve resolve;
	struct filter filter;
	struct jfr_chunk *chunk;
	const struct settings *settings;
	uint32_t process;
	int64_t from, to; /* ticks */
	uint32_t last_thread;
	uint64_t last_thread_key;
	double ns_per_tick;
};

static void prepared_chunk_open(struct pipeline *pipeline, struct prepared_chunk *one)
{
	int err = jfr_chunk_open(&one->chunk, one->from.data, &one->from.header);

	one->open = !err;
	one->chunk.is_mapped_file = !one->from.in_memory;
	if (!err)
		err = runs_find(&one->runs, &one->chunk, KINDS);
	if (one->chunk.error.what)
		pipeline->feed->calls->damage(pipeline->feed, &one->from, &one->chunk.error);
	if (err && err != -EBADMSG)
		pipeline->out_of_memory = true;
}

static void *pipeline_produce(void *arg)
{
	struct pipeline *pipeline = arg;
	struct prepared_chunk one;
	bool more;

	do {
		one = (struct prepared_chunk){ 0 };
		more = !pipeline->heap->overflow &&
		       pipeline->feed->calls->next(pipeline->feed, &one.from);
		if (more)
			prepared_chunk_open(pipeline, &one);
		pthread_mutex_lock(&pipeline->lock);
		while (pipeline->put_count - pipeline->taken_count == CHUNKS_AHEAD_MAX)
			pthread_cond_wait(&pipeline->changed, &pipeline->lock);
		if (more)
			pipeline->slots[pipeline->put_count++ % CHUNKS_AHEAD_MAX] = one;
		else
			pipeline->ended = true;
		pthread_cond_broadcast(&pipeline->changed);
		pthread_mutex_unlock(&pipeline->lock);
	} while (more);
	return NULL;
}

static uint32_t reading_thread(struct reading *r, const struct jfr_event *event)
{
	uint64_t key = (uint64_t)event->slot[JFR_THREAD];

	if (!r->last_thread || key != r->last_thread_key) {
		r->last_thread = resolve_thread(&r->resolve, key);
		r->last_thread_key = key;
	}
	return r->last_thread;
}

static uint32_t reading_context(struct reading *r, const struct jfr_event *event)
{
	return filter_wants_contexts(r->heap->query)
		       ? resolve_context(&r->resolve, (uint64_t)event->slot[JFR_CONTEXT])
		       : 0;
}

/* Process one event. Returns false after an overflow. */
static bool reading_on_event(void *arg, const struct jfr_event *event)
{
	struct reading *r = arg;
	const int64_t *slot = event->slot;
	struct heap *h = r->heap;
	int64_t time_ns;

	if (slot[JFR_TIME] < r->from || slot[JFR_TIME] > r->to)
		return true;
	time_ns = ticks_to_ns_by(&r->chunk->header, r->ns_per_tick, slot[JFR_TIME]);
	if (time_ns < h->first_ns)
		h->first_ns = time_ns;
	if (time_ns > h->last_ns)
		h->last_ns = time_ns;
	/* A malloc of size 0 frees its address, as in async-profiler's own reader. */
	if (event->kind == JFR_FREE || slot[JFR_SIZE] <= 0) {
		heap_on_free(h, (uint64_t)slot[JFR_ADDRESS], r->process, time_ns,
			     h->want_stacks ? reading_thread(r, event) : 0);
	} else if (slot[JFR_ADDRESS]) {
		struct allocation a = {
			.address = (uint64_t)slot[JFR_ADDRESS],
			.time_ns = time_ns,
			.size = slot[JFR_SIZE],
			.scale = r->heap->query->weighted
					 ? (float)mem_scale(r->settings, slot[JFR_SIZE],
							    slot[JFR_WEIGHT])
					 : 1,
			.stack = resolve_stack(&r->resolve, (uint64_t)slot[JFR_STACK], 0,
					       JFR_FRAME_NATIVE),
			.thread = reading_thread(r, event),
			.process = r->process,
		};

		if (filter_thread(&r->filter, a.thread) &&
		    filter_stack(&r->filter, a.stack, a.thread) &&
		    filter_context(&r->filter, reading_context(r, event)))
			heap_on_malloc(h, &a);
		else /* an earlier allocation at this address is gone in any case */
			heap_on_free(h, a.address, a.process, time_ns, a.thread);
	}
	return !h->overflow;
}

/* Returns the ID of FROM's process, which is added if it is new; 0: out of memory. Equal addresses of different
 * processes are different allocations. Recordings without labels belong to one process. */
static uint32_t heap_add_process(struct heap *h, const struct feed_chunk *from)
{
	struct buf labels = BUF_INIT(1u << 17);
	uint32_t process;

	labels_write(&labels, from->file, from->labels);
	process = intern(&h->processes, labels.data, labels.length);
	buf_free(&labels);
	return process;
}

static void heap_process_extend_range(struct heap_process *p, int64_t start_ns, int64_t end_ns)
{
	p->first_ns = !p->covered || start_ns < p->first_ns ? start_ns : p->first_ns;
	p->last_ns = !p->covered || end_ns > p->last_ns ? end_ns : p->last_ns;
	p->covered = true;
}

/* A snapshot covers all threads and contexts since the engine's start. If the query selects a
 * thread, a label of samples or a later start, single events are used. */
static bool reading_wants_snapshots(struct reading *r)
{
	const struct query *query = r->heap->query;

	return r->heap->want_snapshots && !query->thread.set && !query->from.kind &&
	       !query->trace && filter_context(&r->filter, 0);
}

static int snapshot_add_row(struct heap_snapshot *s, const struct retained *row)
{
	if (array_reserve(&s->rows, &s->capacity, s->count, sizeof(*s->rows)))
		return -ENOMEM;
	s->rows[s->count++] = *row;
	return 0;
}

static int snapshot_copy(struct heap_snapshot *to, const struct heap_snapshot *from)
{
	int err = 0;

	to->count = 0;
	to->time_ns = from->time_ns;
	to->found = true;
	for (uint32_t i = 0; i < from->count && !err; i++)
		err = snapshot_add_row(to, &from->rows[i]);
	return err;
}

/* Add the thread "all threads", to which a snapshot is assigned. */
static uint32_t add_all_threads(struct reading *r)
{
	struct thread_key key = { .name = intern_string(&r->heap->profile.names, "all threads"),
				  .labels = r->resolve.labels };

	return intern(&r->heap->profile.threads, &key, sizeof(key));
}

/* Add EVENT to this chunk's snapshot, which replaces the process's last one. */
static int reading_add_retained(struct reading *r, struct heap_snapshot *last, bool *started,
				const struct jfr_event *event)
{
	struct retained row = {
		.stack = resolve_stack(&r->resolve, (uint64_t)event->slot[JFR_STACK], 0,
				       JFR_FRAME_NATIVE),
		.oldest_ns = ticks_to_ns(&r->chunk->header, event->slot[JFR_OLDEST]),
		.count = (double)event->slot[JFR_COUNT],
		.bytes = (double)event->slot[JFR_BYTES],
	};

	if (event->slot[JFR_TIME] < r->from || event->slot[JFR_TIME] > r->to)
		return 0;
	if (!*started)
		last->count = 0;
	*started = last->found = true;
	last->time_ns = ticks_to_ns(&r->chunk->header, event->slot[JFR_TIME]);
	return filter_stack(&r->filter, row.stack, 0) ? snapshot_add_row(last, &row) : 0;
}

/* Read the builtin engine's events about the whole process: snapshots and losses. */
static int reading_read_process_events(struct reading *r, struct heap_process *p, bool inside)
{
	bool wants_snapshots = reading_wants_snapshots(r), started = false;
	struct jfr_event event;
	struct jfr_scan scan;
	int err = 0;

	if (!jfr_type_by_name(r->chunk, "asprof.Losses")) /* saves a walk over all events */
		return 0;
	jfr_scan_start(&scan, r->chunk,
		       JFR_MASK(JFR_RETAINED) | JFR_MASK(JFR_LOSSES) | JFR_MASK(JFR_COST));
	while (!err && jfr_scan_next(&scan, &event))
		if (event.kind == JFR_RETAINED && wants_snapshots)
			err = reading_add_retained(r, &p->last, &started, &event);
		else if (event.kind == JFR_LOSSES && inside && !r->heap->part)
			losses_read(&r->heap->profile.losses, r->chunk, &event);
		else if (event.kind == JFR_COST && inside && !r->heap->part)
			costs_read(&r->heap->profile.losses.costs, r->chunk, &event);
	if (!started || err)
		return err;
	p->thread = add_all_threads(r);
	return p->first.found ? 0 : snapshot_copy(&p->first, &p->last);
}

static void reading_read_process(struct reading *r, const struct period *period)
{
	struct heap_process *p = heap_get_process(r->heap, r->process);
	int64_t start_ns, end_ns;
	bool inside = period_covers(period, &r->chunk->header, &start_ns, &end_ns);

	if (!p)
		return;
	if (inside)
		heap_process_extend_range(p, start_ns, end_ns);
	if (reading_read_process_events(r, p, inside))
		r->heap->out_of_memory = true;
}

static void heap_read_chunk(struct heap *h, struct prepared_chunk *one, const struct period *period)
{
	struct reading r = { .heap = h,
			     .filter = { .query = h->query, .profile = &h->profile },
			     .chunk = &one->chunk,
			     .settings = &one->from.settings,
			     .process = heap_add_process(h, &one->from) };

	period_add_chunk(period, &h->profile, &one->chunk.header);
	profile_update_periods(&h->profile, &one->from.settings);
	r.ns_per_tick = ns_per_tick(&one->chunk.header);
	period_ticks(period, &one->chunk.header, &r.from, &r.to);
	resolve_open(&r.resolve, &h->profile, h->query, &one->chunk, &one->from);
	r.filter.labels = r.resolve.labels;
	if (runs_merge(&one->runs, &one->chunk, KINDS, reading_on_event, &r))
		h->out_of_memory = true;
	reading_read_process(&r, period);
	resolve_close(&r.resolve);
	filter_free(&r.filter);
}

static void prepared_chunk_close(struct feed *feed, struct prepared_chunk *one)
{
	if (one->open) {
		runs_free(&one->runs);
		jfr_chunk_close(&one->chunk);
	}
	feed->calls->done(feed, &one->from);
}

/* Wait for the next chunk. Returns false if there is none. */
static bool pipeline_wait_next(struct pipeline *pipeline, struct prepared_chunk *one)
{
	bool more;

	pthread_mutex_lock(&pipeline->lock);
	while (pipeline->put_count == pipeline->taken_count && !pipeline->ended)
		pthread_cond_wait(&pipeline->changed, &pipeline->lock);
	more = pipeline->put_count != pipeline->taken_count;
	if (more)
		*one = pipeline->slots[pipeline->taken_count % CHUNKS_AHEAD_MAX];
	pthread_mutex_unlock(&pipeline->lock);
	return more;
}

/* Free the chunk's slot only after closing it, so that at most CHUNKS_AHEAD_MAX chunks are in
 * slots. */
static void pipeline_release(struct pipeline *pipeline, struct prepared_chunk *one)
{
	prepared_chunk_close(pipeline->feed, one);
	pthread_mutex_lock(&pipeline->lock);
	pipeline->taken_count++;
	pthread_cond_broadcast(&pipeline->changed);
	pthread_mutex_unlock(&pipeline->lock);
}

static void pipeline_consume(struct pipeline *pipeline, struct heap *h, const struct period *period)
{
	struct prepared_chunk one;

	while (pipeline_wait_next(pipeline, &one)) {
		if (one.open && !h->overflow)
			heap_read_chunk(h, &one, period);
		pipeline_release(pipeline, &one);
	}
}

static void pipeline_run_single_threaded(struct pipeline *pipeline, struct heap *h,
					 const struct period *period)
{
	struct prepared_chunk one = { 0 };

	while (!h->overflow && pipeline->feed->calls->next(pipeline->feed, &one.from)) {
		prepared_chunk_open(pipeline, &one);
		if (one.open)
			heap_read_chunk(h, &one, period);
		prepared_chunk_close(pipeline->feed, &one);
		one = (struct prepared_chunk){ 0 };
	}
}

static void pipeline_run(struct heap *h, struct feed *feed, const struct period *period)
{
	struct pipeline pipeline = { .lock = PTHREAD_MUTEX_INITIALIZER,
				     .changed = PTHREAD_COND_INITIALIZER,
				     .feed = feed,
				     .heap = h };
	pthread_t producer;

	if (feed_jobs(feed, h->query->jobs) > 1 &&
	    !pthread_create(&producer, NULL, pipeline_produce, &pipeline)) {
		pipeline_consume(&pipeline, h, period);
		pthread_join(producer, NULL);
	} else {
		pipeline_run_single_threaded(&pipeline, h, period);
	}
	h->out_of_memory |= pipeline.out_of_memory;
}

/* Read all files for one part of the address space. */
static void heap_read_part(struct heap *h)
{
	struct feed *feed = h->feed;
	struct period period;

	heap_start_part(h);
	if (feed->calls->restart(feed, true)) {
		h->out_of_memory = true;
		return;
	}
	if (period_resolve(&period, h->query, feed))
		period = (struct period){ INT64_MIN, INT64_MAX };
	pipeline_run(h, feed, &period);
}

int heap_read(struct heap *h)
{
	h->profile = (struct profile)PROFILE_INIT;
	h->first_ns = INT64_MAX;
	h->last_ns = INT64_MIN;
	/* The number of parts is found by trial; an overflow ends a trial early. */
	heap_read_part(h);
	while (h->overflow) {
		h->part_bits++;
		heap_read_part(h);
	}
	for (;;) {
		heap_finish_part(h);
		if (h->on_part)
			h->on_part(h->arg);
		if (++h->part >> h->part_bits)
			break;
		heap_read_part(h);
	}
	return feed_result(h->feed, h->out_of_memory);
}
