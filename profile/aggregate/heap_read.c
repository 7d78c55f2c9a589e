/* From files to a heap. One thread opens chunks and finds the runs in them, ahead of the other,
 * which takes their events in the order of time. */
#include "profile/aggregate/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "profile/aggregate/filter.h"
#include "profile/aggregate/heap_last.h"
#include "profile/aggregate/heap_order.h"
#include "profile/aggregate/resolve.h"
#include "profile/basics/array.h"
#include "profile/jfr/labels.h"

#define KINDS (JFR_MASK(JFR_MALLOC) | JFR_MASK(JFR_FREE))

/* A chunk on its way from one thread to the other. */
struct prepared_chunk {
	struct feed_chunk from;
	struct jfr_chunk chunk;
	struct runs runs;
	bool open;
};

#define CHUNKS_AHEAD_MAX 2

struct pipe_line {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct feed *feed;
	struct heap *heap;
	struct prepared_chunk slots[CHUNKS_AHEAD_MAX];
	unsigned put, taken;
	bool ended, out_of_memory;
};

/* The reading of one chunk. */
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

static void prepared_chunk_open(struct pipe_line *line, struct prepared_chunk *one)
{
	int err = jfr_chunk_open(&one->chunk, one->from.data, &one->from.header);

	one->open = !err;
	one->chunk.mapped = !one->from.in_memory;
	if (!err)
		err = runs_find(&one->runs, &one->chunk, KINDS);
	if (one->chunk.error.what)
		line->feed->calls->damage(line->feed, &one->from, &one->chunk.error);
	if (err && err != -EBADMSG)
		line->out_of_memory = true;
}

static void *pipeline_produce(void *arg)
{
	struct pipe_line *line = arg;
	struct prepared_chunk one;
	bool more;

	do {
		one = (struct prepared_chunk){ 0 };
		more = !line->heap->overflow && line->feed->calls->next(line->feed, &one.from);
		if (more)
			prepared_chunk_open(line, &one);
		pthread_mutex_lock(&line->lock);
		while (line->put - line->taken == CHUNKS_AHEAD_MAX)
			pthread_cond_wait(&line->changed, &line->lock);
		if (more)
			line->slots[line->put++ % CHUNKS_AHEAD_MAX] = one;
		else
			line->ended = true;
		pthread_cond_broadcast(&line->changed);
		pthread_mutex_unlock(&line->lock);
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

/* False when there turned out to be too much. */
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
	/* A malloc of nothing ends what was at that address, as in async-profiler's own reader. */
	if (event->kind == JFR_FREE || slot[JFR_SIZE] <= 0) {
		heap_on_free(h, (uint64_t)slot[JFR_ADDRESS], r->process, time_ns,
			     h->want_stacks ? reading_thread(r, event) : 0);
	} else if (slot[JFR_ADDRESS]) {
		struct allocation a = {
			.address = (uint64_t)slot[JFR_ADDRESS],
			.time_ns = time_ns,
			.size = slot[JFR_SIZE],
			.scale = (float)mem_scale(r->settings, slot[JFR_SIZE], slot[JFR_WEIGHT]),
			.stack = resolve_stack(&r->resolve, (uint64_t)slot[JFR_STACK], 0,
					       JFR_FRAME_NATIVE),
			.thread = reading_thread(r, event),
			.process = r->process,
		};

		if (filter_thread(&r->filter, a.thread) &&
		    filter_stack(&r->filter, a.stack, a.thread) &&
		    filter_context(&r->filter, reading_context(r, event)))
			heap_on_malloc(h, &a);
		else /* what was there before must be gone all the same */
			heap_on_free(h, a.address, a.process, time_ns, a.thread);
	}
	return !h->overflow;
}

/* Files of one process are told by what they are labelled with; those without a label are all taken
 * for one process's. */
uint32_t heap_process(struct heap *h, const struct feed_chunk *from)
{
	struct buf labels = BUF_INIT(1u << 17);
	uint32_t process;

	labels_write(&labels, from->file, from->labels);
	process = intern(&h->processes, labels.data, labels.length);
	buf_free(&labels);
	return process;
}

static int heap_process_extend_range(struct retained **list, uint32_t *count, uint32_t *room,
				     const struct retained *one)
{
	struct retained *grown = array_reserve(*list, room, *count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*list = grown;
	grown[(*count)++] = *one;
	return 0;
}

/* The statement in this chunk takes the place of the process's last one. */
static void reading_read_process(struct reading *r)
{
	struct heap *h = r->heap;
	struct jfr_event event;
	struct jfr_scan scan;
	bool started = false, first = true;
	uint32_t kept = 0;

	if (!jfr_type(r->chunk, "asprof.RetainedHeap")) /* saves a walk over all events */
		return;
	jfr_scan(&scan, r->chunk, JFR_MASK(JFR_RETAINED));
	while (jfr_scan_next(&scan, &event)) {
		struct retained one = {
			.stack = resolve_stack(&r->resolve, (uint64_t)event.slot[JFR_STACK], 0,
					       JFR_FRAME_NATIVE),
			.process = r->process,
			.time_ns = ticks_to_ns(&r->chunk->header, event.slot[JFR_TIME]),
			.oldest_ns = ticks_to_ns(&r->chunk->header, event.slot[JFR_OLDEST]),
			.count = (double)event.slot[JFR_COUNT],
			.bytes = (double)event.slot[JFR_BYTES],
		};

		if (event.slot[JFR_TIME] < r->from || event.slot[JFR_TIME] > r->to ||
		    !filter_stack(&r->filter, one.stack, 0) || !filter_context(&r->filter, 0))
			continue;
		for (uint32_t i = 0; !started && i < h->first_count; i++)
			first &= h->first[i].process != r->process;
		for (uint32_t i = 0; !started && i < h->last_count; i++)
			if (h->last[i].process != r->process)
				h->last[kept++] = h->last[i];
		if (!started)
			h->last_count = kept;
		started = true;
		if ((first &&
		     heap_process_extend_range(&h->first, &h->first_count, &h->first_room, &one)) ||
		    heap_process_extend_range(&h->last, &h->last_count, &h->last_room, &one))
			h->out_of_memory = true;
	}
}

static void heap_read_chunk(struct heap *h, struct prepared_chunk *one, const struct period *period)
{
	struct reading r = { .heap = h,
			     .filter = { .query = h->query, .profile = &h->profile },
			     .chunk = &one->chunk,
			     .settings = &one->from.settings,
			     .process = heap_process(h, &one->from) };

	period_add_chunk(period, &h->profile, &one->chunk.header);
	r.ns_per_tick = ns_per_tick(&one->chunk.header);
	period_ticks(period, &one->chunk.header, &r.from, &r.to);
	resolve_open(&r.resolve, &h->profile, h->query, &one->chunk, &one->from);
	r.filter.labels = r.resolve.labels;
	if (runs_merge(&one->runs, &one->chunk, KINDS, reading_on_event, &r))
		h->out_of_memory = true;
	reading_read_process(&r);
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

/* Wait for the next chunk. False when there is none. */
static bool pipeline_wait_next(struct pipe_line *line, struct prepared_chunk *one)
{
	bool more;

	pthread_mutex_lock(&line->lock);
	while (line->put == line->taken && !line->ended)
		pthread_cond_wait(&line->changed, &line->lock);
	more = line->put != line->taken;
	if (more)
		*one = line->slots[line->taken % CHUNKS_AHEAD_MAX];
	pthread_mutex_unlock(&line->lock);
	return more;
}

/* Its place is free only now: so no more than AHEAD chunks are open at a time. */
static void pipeline_release(struct pipe_line *line, struct prepared_chunk *one)
{
	prepared_chunk_close(line->feed, one);
	pthread_mutex_lock(&line->lock);
	line->taken++;
	pthread_cond_broadcast(&line->changed);
	pthread_mutex_unlock(&line->lock);
}

static void pipeline_consume(struct pipe_line *line, struct heap *h, const struct period *period)
{
	struct prepared_chunk one;

	while (pipeline_wait_next(line, &one)) {
		if (one.open && !h->overflow)
			heap_read_chunk(h, &one, period);
		pipeline_release(line, &one);
	}
}

/* Where no second thread can be had. */
static void pipeline_run_single_threaded(struct pipe_line *line, struct heap *h,
					 const struct period *period)
{
	struct prepared_chunk one = { 0 };

	while (!h->overflow && line->feed->calls->next(line->feed, &one.from)) {
		prepared_chunk_open(line, &one);
		if (one.open)
			heap_read_chunk(h, &one, period);
		prepared_chunk_close(line->feed, &one);
		one = (struct prepared_chunk){ 0 };
	}
}

static void pipeline_run(struct heap *h, struct feed *feed, const struct period *period)
{
	struct pipe_line line = { .lock = PTHREAD_MUTEX_INITIALIZER,
				  .changed = PTHREAD_COND_INITIALIZER,
				  .feed = feed,
				  .heap = h };
	pthread_t producer;

	if (!pthread_create(&producer, NULL, pipeline_produce, &line)) {
		pipeline_consume(&line, h, period);
		pthread_join(producer, NULL);
	} else {
		pipeline_run_single_threaded(&line, h, period);
	}
	h->out_of_memory |= line.out_of_memory;
}

/* Read all files for one part of the addresses. */
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
	if (h->want_stacks)
		pipeline_run(h, feed, &period);
	else
		heap_last_read(h, feed, &period);
}

int heap_read(struct heap *h)
{
	h->profile = (struct profile)PROFILE_INIT;
	h->first_ns = INT64_MAX;
	h->last_ns = INT64_MIN;
	/* Into how many parts is found by trying; a try that fails does so early. */
	heap_read_part(h);
	while (h->overflow) {
		h->part_bits++;
		heap_read_part(h);
	}
	for (;;) {
		if (h->on_part)
			h->on_part(h->arg);
		if (++h->part >> h->part_bits)
			break;
		heap_read_part(h);
	}
	return feed_result(h->feed, h->out_of_memory);
}
