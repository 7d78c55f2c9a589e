/* What lives at the end: the last event at each address. */
#include "decoder/heap_last.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/resolve.h"

#define KINDS (JFR_MASK(JFR_MALLOC) | JFR_MASK(JFR_FREE))

/* The last event of a chunk at ADDRESS. There can be millions: what else it says is read again
 * where it stands, AT bytes into the chunk. */
struct last {
	uint64_t address; /* 0: the place is free */
	int64_t time;
	uint32_t at;
	bool holds; /* an allocation, not a free */
};

struct last_table {
	struct last *list;
	uint32_t count, capacity;
};

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct heap *heap;
	const struct period *period;
	uint64_t next, turn; /* chunks given out, and the one whose turn it is to be put in */
};

static struct last *find(const struct last_table *t, uint64_t address)
{
	uint32_t mask = t->capacity - 1;
	uint32_t i = (uint32_t)((address * 0x9E3779B97F4A7C15u) >> 32) & mask;

	while (t->list[i].address && t->list[i].address != address)
		i = (i + 1) & mask;
	return &t->list[i];
}

static int grow(struct last_table *t)
{
	struct last_table bigger = { .count = t->count,
				     .capacity = t->capacity ? t->capacity * 2 : 4096 };

	bigger.list = calloc(bigger.capacity, sizeof(*bigger.list));
	if (!bigger.list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->capacity; i++)
		if (t->list[i].address)
			*find(&bigger, t->list[i].address) = t->list[i];
	free(t->list);
	*t = bigger;
	return 0;
}

/* Of two events at one time the one that stands later in the file is the later one. */
static int note(struct last_table *t, const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	const int64_t *slot = event->slot;
	struct last *last;

	if (!slot[JFR_ADDRESS])
		return 0;
	if (t->count >= t->capacity / 4 * 3 && grow(t))
		return -ENOMEM;
	last = find(t, (uint64_t)slot[JFR_ADDRESS]);
	if (!last->address)
		t->count++;
	else if (slot[JFR_TIME] < last->time)
		return 0;
	*last = (struct last){ .address = (uint64_t)slot[JFR_ADDRESS],
			       .time = slot[JFR_TIME],
			       .at = (uint32_t)(event->offset - chunk->header.offset),
			       .holds = event->kind == JFR_MALLOC && slot[JFR_SIZE] > 0 };
	return 0;
}

struct span {
	int64_t first, last; /* ticks; first > last: no event */
};

static int read_events(struct last_table *t, struct jfr_chunk *chunk, const struct period *period,
		       struct span *span)
{
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t from, to;
	int err = 0;

	*span = (struct span){ INT64_MAX, INT64_MIN };
	period_ticks(period, &chunk->header, &from, &to);
	jfr_scan(&scan, chunk, KINDS);
	while (!err && jfr_next(&scan, &event)) {
		int64_t time = event.slot[JFR_TIME];

		if (time < from || time > to)
			continue;
		span->first = time < span->first ? time : span->first;
		span->last = time > span->last ? time : span->last;
		err = note(t, chunk, &event);
	}
	return err;
}

/* The allocation that ONE tells of, read again. False where it is not wanted. */
static bool read_again(struct resolve *resolve, struct filter *filter,
		       const struct settings *settings, const struct last *one,
		       struct allocation *a)
{
	struct jfr_chunk *chunk = resolve->chunk;
	struct jfr_event event;
	struct jfr_scan scan;

	jfr_scan(&scan, chunk, KINDS);
	scan.at = scan.kept = chunk->data + one->at;
	if (!one->holds || !jfr_next(&scan, &event))
		return false;
	a->time_ns = ticks_to_ns(&chunk->header, one->time);
	a->size = event.slot[JFR_SIZE];
	a->scale = (float)mem_scale(settings, a->size, event.slot[JFR_WEIGHT]);
	a->stack = resolve_stack(resolve, (uint64_t)event.slot[JFR_STACK], 0, FRAME_NATIVE);
	a->thread = resolve_thread(resolve, (uint64_t)event.slot[JFR_THREAD]);
	return filter_thread(filter, a->thread) && filter_stack(filter, a->stack, a->thread);
}

/* Put one chunk's table into the heap: what it freed goes, what it holds comes. */
static void put_in(struct heap *h, const struct last_table *t, struct jfr_chunk *chunk,
		   const struct feed_chunk *from, const struct span *span)
{
	struct filter filter = { .args = h->args, .profile = &h->profile };
	uint32_t process = heap_process(h, from);
	struct resolve resolve;
	int64_t first = ticks_to_ns(&chunk->header, span->first);
	int64_t last = ticks_to_ns(&chunk->header, span->last);

	profile_spans(&h->profile, &chunk->header);
	if (span->first > span->last)
		return;
	h->first_ns = first < h->first_ns ? first : h->first_ns;
	h->last_ns = last > h->last_ns ? last : h->last_ns;
	resolve_open(&resolve, &h->profile, h->args, chunk, from);
	for (uint32_t i = 0; i < t->capacity; i++) {
		const struct last *one = &t->list[i];
		struct allocation a = { .address = one->address, .process = process };

		if (!one->address)
			continue;
		if (read_again(&resolve, &filter, &from->settings, one, &a))
			heap_malloc(h, &a);
		else
			heap_freed(h, one->address, process, 0, 0);
	}
	resolve_close(&resolve);
	filter_free(&filter);
}

static void read_chunk(struct turns *turns, struct feed *feed, struct feed_chunk *from,
		       uint64_t ticket)
{
	struct last_table table = { 0 };
	struct jfr_chunk chunk;
	struct span span = { INT64_MAX, INT64_MIN };
	int err = jfr_chunk_open(&chunk, from->data, &from->header);
	bool open = !err;

	chunk.mapped = true;
	if (open)
		err = read_events(&table, &chunk, turns->period, &span);
	if (chunk.error.what)
		feed_damage(feed, from, &chunk.error);
	pthread_mutex_lock(&turns->lock);
	while (turns->turn != ticket)
		pthread_cond_wait(&turns->changed, &turns->lock);
	if (open)
		put_in(turns->heap, &table, &chunk, from, &span);
	if (err && err != -EBADMSG)
		turns->heap->out_of_memory = true;
	turns->turn++;
	pthread_cond_broadcast(&turns->changed);
	pthread_mutex_unlock(&turns->lock);
	free(table.list);
	jfr_chunk_close(&chunk);
}

static void work(struct feed *feed, void *state)
{
	struct turns *turns = *(struct turns **)state;
	struct feed_chunk from;
	uint64_t ticket;
	bool more;

	for (;;) {
		/* Chunk and ticket are taken at once: the tickets are the order of time. */
		pthread_mutex_lock(&turns->lock);
		more = feed_next(feed, &from);
		ticket = more ? turns->next++ : 0;
		pthread_mutex_unlock(&turns->lock);
		if (!more)
			break;
		read_chunk(turns, feed, &from, ticket);
		feed_done(feed, &from);
	}
}

void heap_last_read(struct heap *heap, struct feed *feed, const struct period *period)
{
	struct turns turns = { .lock = PTHREAD_MUTEX_INITIALIZER,
			       .changed = PTHREAD_COND_INITIALIZER,
			       .heap = heap,
			       .period = period };
	struct turns *states[FEED_JOBS_MAX];
	unsigned jobs = feed_jobs(feed, heap->args->jobs);

	for (unsigned i = 0; i < jobs; i++)
		states[i] = &turns;
	feed_run(feed, jobs, work, states, sizeof(states[0]));
}
