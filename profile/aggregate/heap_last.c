/* What lives at the end: the last event at each address. */
#include "profile/aggregate/heap_last.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "profile/aggregate/last_table.h"
#include "profile/aggregate/resolve.h"

/* Places of a table, which is one for each of so many threads. */
#define PLACES_MAX (1u << 20)
#define JOBS_MAX   2

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct heap *heap;
	const struct period *period;
	uint64_t next, turn; /* chunks given out, and the one whose turn it is to be put in */
};

/* One chunk on its way. */
struct reading {
	struct jfr_chunk chunk;
	struct feed_chunk from;
	struct last_table table;
	int64_t first, last; /* ticks; first > last: no event */
};

/* As in heap.c, the first part of the addresses leaves some room for chance in the others. */
static bool too_many(const struct heap *h, const struct last_table *t)
{
	return !h->part && t->count > PLACES_MAX / 8 * 5;
}

static int read_events(struct turns *turns, struct reading *r)
{
	struct heap *h = turns->heap;
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t from, to;
	int err = 0;

	period_ticks(turns->period, &r->chunk.header, &from, &to);
	jfr_scan(&scan, &r->chunk, LAST_KINDS);
	while (!err && !h->overflow && jfr_scan_next(&scan, &event)) {
		int64_t time = event.slot[JFR_TIME];

		if (time < from || time > to)
			continue;
		r->first = time < r->first ? time : r->first;
		r->last = time > r->last ? time : r->last;
		if (!event.slot[JFR_ADDRESS] ||
		    !heap_part_has(h, (uint64_t)event.slot[JFR_ADDRESS]))
			continue;
		err = last_table_note(&r->table, &event);
		if (too_many(h, &r->table))
			h->overflow = true;
	}
	return err;
}

static uint32_t context_of(struct resolve *resolve, const struct jfr_event *event)
{
	return filter_wants_contexts(resolve->query)
		       ? resolve_context(resolve, (uint64_t)event->slot[JFR_CONTEXT])
		       : 0;
}

static void add_held(struct heap *h, struct reading *r, uint32_t process)
{
	struct filter filter = { .query = h->query, .profile = &h->profile };
	struct resolve resolve;
	struct jfr_event event;
	struct jfr_scan scan;

	jfr_scan(&scan, &r->chunk, LAST_KINDS);
	resolve_open(&resolve, &h->profile, h->query, &r->chunk, &r->from);
	filter.labels = resolve.labels;
	for (uint32_t i = 0; i < r->table.count; i++) {
		struct allocation a = { .address = r->table.list[i].address, .process = process };
		const uint8_t *at = r->chunk.data + r->table.list[i].at;
		const int64_t *slot = event.slot;

		if (at < scan.at)
			scan.kept = at;
		scan.at = at;
		if (!jfr_scan_next(&scan, &event))
			break;
		a.time_ns = ticks_to_ns(&r->chunk.header, slot[JFR_TIME]);
		a.size = slot[JFR_SIZE];
		a.scale = (float)mem_scale(&r->from.settings, a.size, slot[JFR_WEIGHT]);
		a.stack = resolve_stack(&resolve, (uint64_t)slot[JFR_STACK], 0, JFR_FRAME_NATIVE);
		a.thread = resolve_thread(&resolve, (uint64_t)slot[JFR_THREAD]);
		if (filter_thread(&filter, a.thread) && filter_stack(&filter, a.stack, a.thread) &&
		    filter_context(&filter, context_of(&resolve, &event)))
			heap_on_malloc(h, &a);
	}
	resolve_close(&resolve);
	filter_free(&filter);
}

static bool is_in_table(void *arg, uint64_t address)
{
	return last_table_has(arg, address);
}

/* Put one chunk's table into the heap: what it speaks of goes, what it holds comes. */
static void put_in(struct heap *h, struct reading *r, const struct period *period)
{
	uint32_t process = heap_process(h, &r->from);
	int64_t first, last;

	period_add_chunk(period, &h->profile, &r->chunk.header);
	profile_update_periods(&h->profile, &r->from.settings);
	if (r->first > r->last)
		return;
	first = ticks_to_ns(&r->chunk.header, r->first);
	last = ticks_to_ns(&r->chunk.header, r->last);
	h->first_ns = first < h->first_ns ? first : h->first_ns;
	h->last_ns = last > h->last_ns ? last : h->last_ns;
	if (h->live)
		heap_sweep(h, process, is_in_table, &r->table);
	last_table_keep_held(&r->table);
	add_held(h, r, process);
}

static int read_chunk(struct turns *turns, struct reading *r)
{
	int err = jfr_chunk_open(&r->chunk, r->from.data, &r->from.header);

	r->chunk.mapped = !r->from.in_memory;
	if (!err)
		err = last_table_open(&r->table, &r->chunk);
	if (!err)
		err = read_events(turns, r);
	return err;
}

static void file_feed_read_chunk(struct turns *turns, struct feed *feed, struct reading *r,
				 uint64_t ticket)
{
	int err = read_chunk(turns, r);

	if (r->chunk.error.what)
		feed->calls->damage(feed, &r->from, &r->chunk.error);
	pthread_mutex_lock(&turns->lock);
	while (turns->turn != ticket)
		pthread_cond_wait(&turns->changed, &turns->lock);
	if (!err && !turns->heap->overflow)
		put_in(turns->heap, r, turns->period);
	if (err && err != -EBADMSG)
		turns->heap->out_of_memory = true;
	turns->turn++;
	pthread_cond_broadcast(&turns->changed);
	pthread_mutex_unlock(&turns->lock);
	last_table_close(&r->table);
	jfr_chunk_close(&r->chunk);
}

static void work(struct feed *feed, void *state)
{
	struct turns *turns = *(struct turns **)state;
	struct reading reading;
	uint64_t ticket;
	bool more;

	for (;;) {
		reading = (struct reading){ .first = INT64_MAX, .last = INT64_MIN };
		/* Chunk and ticket are taken at once: the tickets are the order of time. */
		pthread_mutex_lock(&turns->lock);
		more = !turns->heap->overflow && feed->calls->next(feed, &reading.from);
		ticket = more ? turns->next++ : 0;
		pthread_mutex_unlock(&turns->lock);
		if (!more)
			break;
		file_feed_read_chunk(turns, feed, &reading, ticket);
		feed->calls->done(feed, &reading.from);
	}
}

void heap_last_read(struct heap *heap, struct feed *feed, const struct period *period)
{
	struct turns turns = { .lock = PTHREAD_MUTEX_INITIALIZER,
			       .changed = PTHREAD_COND_INITIALIZER,
			       .heap = heap,
			       .period = period };
	struct turns *states[JOBS_MAX];
	unsigned jobs = feed_jobs(feed, heap->query->jobs);

	jobs = jobs < JOBS_MAX ? jobs : JOBS_MAX;
	for (unsigned i = 0; i < jobs; i++)
		states[i] = &turns;
	feed_run(feed, jobs, work, states, sizeof(states[0]));
}
