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
struct prepared {
	struct feed_chunk from;
	struct jfr_chunk chunk;
	struct runs runs;
	bool open;
};

#define AHEAD 2

struct pipe_line {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct feed *feed;
	struct heap *heap;
	struct prepared slots[AHEAD];
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

static void prepare(struct pipe_line *line, struct prepared *one)
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

static void *produce(void *arg)
{
	struct pipe_line *line = arg;
	struct prepared one;
	bool more;

	do {
		one = (struct prepared){ 0 };
		more = !line->heap->overflow && line->feed->calls->next(line->feed, &one.from);
		if (more)
			prepare(line, &one);
		pthread_mutex_lock(&line->lock);
		while (line->put - line->taken == AHEAD)
			pthread_cond_wait(&line->changed, &line->lock);
		if (more)
			line->slots[line->put++ % AHEAD] = one;
		else
			line->ended = true;
		pthread_cond_broadcast(&line->changed);
		pthread_mutex_unlock(&line->lock);
	} while (more);
	return NULL;
}

static uint32_t thread_of(struct reading *r, const struct jfr_event *event)
{
	uint64_t key = (uint64_t)event->slot[JFR_THREAD];

	if (!r->last_thread || key != r->last_thread_key) {
		r->last_thread = resolve_thread(&r->resolve, key);
		r->last_thread_key = key;
	}
	return r->last_thread;
}

static uint32_t context_of(struct reading *r, const struct jfr_event *event)
{
	return filter_wants_contexts(r->heap->query)
		       ? resolve_context(&r->resolve, (uint64_t)event->slot[JFR_CONTEXT])
		       : 0;
}

/* False when there turned out to be too much. */
static bool on_event(void *arg, const struct jfr_event *event)
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
		heap_freed(h, (uint64_t)slot[JFR_ADDRESS], r->process, time_ns,
			   h->want_stacks ? thread_of(r, event) : 0);
	} else if (slot[JFR_ADDRESS]) {
		struct allocation a = {
			.address = (uint64_t)slot[JFR_ADDRESS],
			.time_ns = time_ns,
			.size = slot[JFR_SIZE],
			.scale = (float)mem_scale(r->settings, slot[JFR_SIZE], slot[JFR_WEIGHT]),
			.stack = resolve_stack(&r->resolve, (uint64_t)slot[JFR_STACK], 0,
					       JFR_FRAME_NATIVE),
			.thread = thread_of(r, event),
			.process = r->process,
		};

		if (filter_thread(&r->filter, a.thread) &&
		    filter_stack(&r->filter, a.stack, a.thread) &&
		    filter_context(&r->filter, context_of(r, event)))
			heap_malloc(h, &a);
		else /* what was there before must be gone all the same */
			heap_freed(h, a.address, a.process, time_ns, a.thread);
	}
	return !h->overflow;
}

/* Files of one process are told by what they are labelled with; those without a label are all taken
 * for one process's. */
uint32_t heap_process(struct heap *h, const struct feed_chunk *from)
{
	struct buf labels = BUF_INIT(1u << 17);
	uint32_t process;

	labels_of(&labels, from->file, from->labels);
	process = intern(&h->processes, labels.data, labels.length);
	buf_free(&labels);
	return process;
}

static int add_retained(struct retained **list, uint32_t *count, uint32_t *room,
			const struct retained *one)
{
	struct retained *grown = room_for(*list, room, *count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*list = grown;
	grown[(*count)++] = *one;
	return 0;
}

/* The statement in this chunk takes the place of the process's last one. */
static void read_retained(struct reading *r)
{
	struct heap *h = r->heap;
	struct jfr_event event;
	struct jfr_scan scan;
	bool started = false, first = true;
	uint32_t kept = 0;

	if (!jfr_type(r->chunk, "asprof.RetainedHeap")) /* saves a walk over all events */
		return;
	jfr_scan(&scan, r->chunk, JFR_MASK(JFR_RETAINED));
	while (jfr_next(&scan, &event)) {
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
		if ((first && add_retained(&h->first, &h->first_count, &h->first_room, &one)) ||
		    add_retained(&h->last, &h->last_count, &h->last_room, &one))
			h->out_of_memory = true;
	}
}

static void consume_chunk(struct heap *h, struct prepared *one, const struct period *period)
{
	struct reading r = { .heap = h,
			     .filter = { .query = h->query, .profile = &h->profile },
			     .chunk = &one->chunk,
			     .settings = &one->from.settings,
			     .process = heap_process(h, &one->from) };

	period_span(period, &h->profile, &one->chunk.header);
	r.ns_per_tick = ns_per_tick(&one->chunk.header);
	period_ticks(period, &one->chunk.header, &r.from, &r.to);
	resolve_open(&r.resolve, &h->profile, h->query, &one->chunk, &one->from);
	r.filter.labels = r.resolve.labels;
	if (runs_merge(&one->runs, &one->chunk, KINDS, on_event, &r))
		h->out_of_memory = true;
	read_retained(&r);
	resolve_close(&r.resolve);
	filter_free(&r.filter);
}

static void release(struct feed *feed, struct prepared *one)
{
	if (one->open) {
		runs_free(&one->runs);
		jfr_chunk_close(&one->chunk);
	}
	feed->calls->done(feed, &one->from);
}

/* Wait for the next chunk. False when there is none. */
static bool take(struct pipe_line *line, struct prepared *one)
{
	bool more;

	pthread_mutex_lock(&line->lock);
	while (line->put == line->taken && !line->ended)
		pthread_cond_wait(&line->changed, &line->lock);
	more = line->put != line->taken;
	if (more)
		*one = line->slots[line->taken % AHEAD];
	pthread_mutex_unlock(&line->lock);
	return more;
}

/* Its place is free only now: so no more than AHEAD chunks are open at a time. */
static void give_back(struct pipe_line *line, struct prepared *one)
{
	release(line->feed, one);
	pthread_mutex_lock(&line->lock);
	line->taken++;
	pthread_cond_broadcast(&line->changed);
	pthread_mutex_unlock(&line->lock);
}

static void consume(struct pipe_line *line, struct heap *h, const struct period *period)
{
	struct prepared one;

	while (take(line, &one)) {
		if (one.open && !h->overflow)
			consume_chunk(h, &one, period);
		give_back(line, &one);
	}
}

/* Where no second thread can be had. */
static void consume_alone(struct pipe_line *line, struct heap *h, const struct period *period)
{
	struct prepared one = { 0 };

	while (!h->overflow && line->feed->calls->next(line->feed, &one.from)) {
		prepare(line, &one);
		if (one.open)
			consume_chunk(h, &one, period);
		release(line->feed, &one);
		one = (struct prepared){ 0 };
	}
}

static void run_pipe_line(struct heap *h, struct feed *feed, const struct period *period)
{
	struct pipe_line line = { .lock = PTHREAD_MUTEX_INITIALIZER,
				  .changed = PTHREAD_COND_INITIALIZER,
				  .feed = feed,
				  .heap = h };
	pthread_t producer;

	if (!pthread_create(&producer, NULL, produce, &line)) {
		consume(&line, h, period);
		pthread_join(producer, NULL);
	} else {
		consume_alone(&line, h, period);
	}
	h->out_of_memory |= line.out_of_memory;
}

/* Read all files for one part of the addresses. */
static void read_part(struct heap *h)
{
	struct feed *feed = h->feed;
	struct period period;

	heap_restart(h);
	if (feed->calls->restart(feed, true)) {
		h->out_of_memory = true;
		return;
	}
	if (period_set(&period, h->query, feed))
		period = (struct period){ INT64_MIN, INT64_MAX };
	if (h->want_stacks)
		run_pipe_line(h, feed, &period);
	else
		heap_last_read(h, feed, &period);
}

int heap_read(struct heap *h)
{
	h->profile = (struct profile)PROFILE_INIT;
	h->first_ns = INT64_MAX;
	h->last_ns = INT64_MIN;
	/* Into how many parts is found by trying; a try that fails does so early. */
	read_part(h);
	while (h->overflow) {
		h->part_bits++;
		read_part(h);
	}
	for (;;) {
		if (h->each_part)
			h->each_part(h->arg);
		if (++h->part >> h->part_bits)
			break;
		read_part(h);
	}
	return feed_result(h->feed, h->out_of_memory);
}
