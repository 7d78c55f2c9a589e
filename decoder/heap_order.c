/* The memory events of a chunk in the order of time. */
#include "decoder/heap_order.h"

#include <errno.h>
#include <stdlib.h>

#include "decoder/source.h"

static int runs_add(struct runs *runs, uint32_t at, int64_t time)
{
	uint32_t room = runs->room ? runs->room * 2 : 64;
	struct run *list;

	if (runs->count == runs->room) {
		list = realloc(runs->list, room * sizeof(*list));
		if (!list)
			return -ENOMEM;
		runs->list = list;
		runs->room = room;
	}
	runs->list[runs->count++] = (struct run){ .time = time, .at = at, .end = at };
	return 0;
}

int runs_find(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds)
{
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t last = 0;
	uint32_t at;

	*runs = (struct runs){ 0 };
	jfr_scan(&scan, chunk, kinds);
	scan.times_only = true;
	while (jfr_next(&scan, &event)) {
		at = (uint32_t)(event.offset - chunk->header.offset);
		if (!runs->count || event.slot[JFR_TIME] < last)
			if (runs_add(runs, at, event.slot[JFR_TIME])) {
				runs_free(runs);
				return -ENOMEM;
			}
		last = event.slot[JFR_TIME];
		runs->list[runs->count - 1].end = at + event.size;
	}
	return 0;
}

void runs_free(struct runs *runs)
{
	free(runs->list);
	*runs = (struct runs){ 0 };
}

/* Runs that are being merged at one time; few writers have more buffers. Each has its next event
 * at hand; beyond these, events are read again when their turn comes. */
#define OPEN_MAX 256

/* Turns between letting go of the pages. */
#define FORGET_TURNS 16384

struct open_run {
	struct jfr_scan scan;
	struct jfr_event event;
};

struct merge {
	struct run *heap; /* the first COUNT of the runs, which are open */
	uint32_t count;
	struct jfr_chunk *chunk;
	uint32_t kinds;
	struct open_run *open;
	uint32_t spare[OPEN_MAX], spares;
};

/* In one chunk a run's place tells it from all others, and keeps the file's order. */
static bool earlier(const struct run *a, const struct run *b)
{
	return a->time < b->time || (a->time == b->time && a->at < b->at);
}

static int by_time(const void *a, const void *b)
{
	return earlier(a, b) ? -1 : 1;
}

/* Let the run at I sink to where the heap of COUNT runs is in order. */
static void sink(struct run *heap, uint32_t count, uint32_t i)
{
	struct run run = heap[i];
	uint32_t child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!earlier(&heap[child], &run))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = run;
}

/* The next run goes into the heap, whose place it takes is its own in the list. */
static void rise(struct merge *m)
{
	uint32_t i = m->count++, parent;
	struct run run = m->heap[i];

	run.open = m->spares ? m->spare[--m->spares] : OPEN_MAX;
	if (run.open < OPEN_MAX)
		m->open[run.open].event.type = NULL; /* not read yet */
	for (; i && earlier(&run, &m->heap[parent = (i - 1) / 2]); i = parent)
		m->heap[i] = m->heap[parent];
	m->heap[i] = run;
}

static bool start_reading(struct merge *m, const struct run *run, struct open_run *open)
{
	jfr_scan(&open->scan, m->chunk, m->kinds);
	open->scan.at = open->scan.kept = m->chunk->data + run->at;
	open->scan.end = m->chunk->data + run->end;
	return jfr_next(&open->scan, &open->event);
}

/* Visit the earliest run's event, and those behind it for as long as it is the earliest; PENDING
 * is the run that will begin next, or NULL. */
static void take_turn(struct merge *m, const struct run *pending,
		      void (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	struct run *run = &m->heap[0];
	const struct run *rival = m->count > 1 ? &m->heap[1] : NULL;
	struct open_run scratch, *open = run->open < OPEN_MAX ? &m->open[run->open] : &scratch;
	bool more = true;

	if (m->count > 2 && earlier(&m->heap[2], rival))
		rival = &m->heap[2];
	if (pending && (!rival || earlier(pending, rival)))
		rival = pending;
	if (open == &scratch || !open->event.type)
		more = start_reading(m, run, open);
	while (more) {
		visit(arg, &open->event);
		more = jfr_next(&open->scan, &open->event);
		run->time = open->event.slot[JFR_TIME];
		run->at = (uint32_t)(open->event.offset - m->chunk->header.offset);
		if (more && rival && earlier(rival, run)) {
			sink(m->heap, m->count, 0);
			return;
		}
	}
	if (run->open < OPEN_MAX)
		m->spare[m->spares++] = run->open;
	m->heap[0] = m->heap[--m->count];
	if (m->count)
		sink(m->heap, m->count, 0);
}

int runs_merge(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds,
	       void (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	struct merge m = { .chunk = chunk, .kinds = kinds, .heap = runs->list };
	uint32_t next = 0, turns = 0;

	m.open = calloc(OPEN_MAX, sizeof(*m.open));
	if (!runs->count) {
		free(m.open);
		return 0;
	}
	if (!m.open)
		return -ENOMEM;
	for (uint32_t i = 0; i < OPEN_MAX; i++)
		m.spare[m.spares++] = i;
	qsort(runs->list, runs->count, sizeof(*runs->list), by_time);
	/* The heap grows over the front of the list as runs begin, and never overtakes it. */
	while (m.count || next < runs->count) {
		while (next < runs->count && (!m.count || earlier(&runs->list[next], &m.heap[0]))) {
			m.heap[m.count] = runs->list[next++];
			rise(&m);
		}
		take_turn(&m, next < runs->count ? &runs->list[next] : NULL, visit, arg);
		/* Pages that are read on come back at once. */
		if (chunk->mapped && ++turns % FORGET_TURNS == 0)
			source_forget(chunk->data, 0, chunk->header.size);
	}
	free(m.open);
	return 0;
}
