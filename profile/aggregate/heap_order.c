/* Iterator over a chunk's memory events in time order: a merge of sorted runs. */
#include "profile/aggregate/heap_order.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/basics/array.h"

static const struct event_rank first_rank = { INT64_MIN, 0 };
static const struct event_rank last_rank = { INT64_MAX, UINT32_MAX };

static bool event_is_earlier(const struct event_rank *a, const struct event_rank *b)
{
	return a->time < b->time || (a->time == b->time && a->at < b->at);
}

static struct event_rank event_get_rank(const struct jfr_chunk *chunk,
					const struct jfr_event *event)
{
	return (struct event_rank){ event->slot[JFR_TIME],
				    (uint32_t)(event->offset - chunk->header.offset) };
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return event_is_earlier(&x->next, &y->next) ? -1 : 1;
}

/* Drop the later half of the runs, and end the slice where that half starts. */
static void runs_shorten_slice(struct runs *runs)
{
	qsort(runs->list, runs->count, sizeof(*runs->list), compare_runs);
	runs->count /= 2;
	runs->end = runs->list[runs->count].next;
}

static int runs_add(struct runs *runs, const struct run *run)
{
	if (!event_is_earlier(&run->next, &runs->end))
		return 0;
	if (array_reserve(&runs->list, &runs->capacity, runs->count, sizeof(*runs->list)))
		return -ENOMEM;
	runs->list[runs->count++] = *run;
	if (runs->count == RUNS_MAX)
		runs_shorten_slice(runs);
	return 0;
}

/* Find the runs of the slice that starts at runs->begin. It ends at the end of the chunk, or
 * earlier if there are more than RUNS_MAX runs. */
static int runs_find_slice(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds)
{
	struct run run = { .end = 0 }; /* 0: no current run */
	struct event_rank rank;
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t last = 0;
	bool inside;
	int err = 0;

	runs->count = 0;
	runs->end = last_rank;
	jfr_scan_start(&scan, chunk, kinds);
	scan.times_only = true;
	while (!err && jfr_scan_next(&scan, &event)) {
		rank = event_get_rank(chunk, &event);
		inside = !event_is_earlier(&rank, &runs->begin) &&
			 event_is_earlier(&rank, &runs->end);
		if (run.end && (!inside || rank.time < last)) {
			err = runs_add(runs, &run);
			run.end = 0;
		}
		if (!inside)
			continue;
		if (!run.end)
			run.next = rank;
		last = rank.time;
		run.end = rank.at + event.size;
	}
	if (!err && run.end)
		err = runs_add(runs, &run);
	return err;
}

int runs_find(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds)
{
	int err;

	*runs = (struct runs){ .begin = first_rank };
	err = runs_find_slice(runs, chunk, kinds);
	if (err)
		runs_free(runs);
	return err;
}

void runs_free(struct runs *runs)
{
	free(runs->list);
	*runs = (struct runs){ 0 };
}

/* Runs that have their next event decoded; few writers have more buffers. The other runs decode
 * their next event when they are the earliest. */
#define OPEN_RUNS_MAX 256

/* Pages are released when the visits of runs have this cost. The start of an open_run has a higher
 * cost, as the kernel then maps up to 16 pages. */
#define RELEASE_COST 16384
#define START_COST   32

struct open_run {
	struct jfr_scan scan;
	struct jfr_event event; /* its type is NULL while it has not been read */
};

struct merge {
	struct run *heap; /* the earliest is on top */
	uint32_t count;
	struct event_rank end;
	struct jfr_chunk *chunk;
	uint32_t kinds;
	struct open_run *open; /* by run.open - 1 */
	uint32_t spare[OPEN_RUNS_MAX], spare_count;
	uint32_t cost; /* since pages were released */
};

/* Move the run at I down until the heap is in order. */
static void merge_sift_down(struct merge *m, uint32_t i)
{
	struct run *heap = m->heap, run = heap[i];
	uint32_t child;

	while ((child = 2 * i + 1) < m->count) {
		if (child + 1 < m->count &&
		    event_is_earlier(&heap[child + 1].next, &heap[child].next))
			child++;
		if (!event_is_earlier(&heap[child].next, &run.next))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = run;
}

/* Returns RUN's open_run, which is assigned if it has none; NULL if all are in use. */
static struct open_run *merge_get_open_run(struct merge *m, struct run *run)
{
	if (!run->open && m->spare_count) {
		run->open = m->spare[--m->spare_count];
		m->open[run->open - 1].event.type = NULL;
	}
	return run->open ? &m->open[run->open - 1] : NULL;
}

static bool open_run_start(struct merge *m, const struct run *run, struct open_run *open)
{
	m->cost += START_COST;
	jfr_scan_start(&open->scan, m->chunk, m->kinds);
	open->scan.at = open->scan.released = m->chunk->data + run->next.at;
	open->scan.end = m->chunk->data + run->end;
	return jfr_scan_next(&open->scan, &open->event);
}

/* Remove RUN, the top, from the heap. */
static void merge_remove_top(struct merge *m, const struct run *run)
{
	if (run->open)
		m->spare[m->spare_count++] = run->open;
	m->heap[0] = m->heap[--m->count];
	if (m->count)
		merge_sift_down(m, 0);
}

/* Visit the events of the earliest run while it is the earliest. Returns false if VISIT has
 * returned false. */
static bool merge_visit_top(struct merge *m,
			    bool (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	struct run *run = &m->heap[0];
	const struct run *rival = m->count > 1 ? &m->heap[1] : NULL;
	struct open_run scratch = { .event.type = NULL }, *open = merge_get_open_run(m, run);
	bool more = true;

	if (m->count > 2 && event_is_earlier(&m->heap[2].next, &rival->next))
		rival = &m->heap[2];
	if (!open)
		open = &scratch;
	if (!open->event.type)
		more = open_run_start(m, run, open);
	while (more) {
		if (!visit(arg, &open->event))
			return false;
		more = jfr_scan_next(&open->scan, &open->event);
		run->next = event_get_rank(m->chunk, &open->event);
		more = more && event_is_earlier(&run->next, &m->end);
		if (more && rival && event_is_earlier(&rival->next, &run->next)) {
			merge_sift_down(m, 0);
			return true;
		}
	}
	merge_remove_top(m, run);
	return true;
}

/* Returns false if VISIT has returned false. */
static bool merge_slice(struct merge *m, const struct runs *runs,
			bool (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	bool more = true;

	m->heap = runs->list;
	m->count = runs->count;
	m->end = runs->end;
	for (uint32_t i = m->count / 2; i-- > 0;)
		merge_sift_down(m, i);
	while (more && m->count) {
		more = merge_visit_top(m, visit, arg);
		/* Pages that are still in use are mapped again at once. */
		if (++m->cost >= RELEASE_COST && m->chunk->is_mapped_file) {
			jfr_release_pages(m->chunk->data, 0, m->chunk->header.size);
			m->cost = 0;
		}
	}
	return more;
}

int runs_merge(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds,
	       bool (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	struct merge m = { .chunk = chunk, .kinds = kinds };
	int err = 0;

	m.open = calloc(OPEN_RUNS_MAX, sizeof(*m.open));
	if (!m.open)
		return -ENOMEM;
	for (uint32_t i = 0; i < OPEN_RUNS_MAX; i++)
		m.spare[m.spare_count++] = i + 1;
	while (merge_slice(&m, runs, visit, arg) && event_is_earlier(&runs->end, &last_rank) &&
	       !err) {
		runs->begin = runs->end;
		err = runs_find_slice(runs, chunk, kinds);
	}
	free(m.open);
	return err;
}
