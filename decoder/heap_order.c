/* The memory events of a chunk in the order of time. */
#include "decoder/heap_order.h"

#include <errno.h>
#include <stdlib.h>

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
	runs->list[runs->count++] = (struct run){ time, at, at };
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

/* In one chunk a run's place tells it from all others, and keeps the file's order. */
static bool earlier(const struct run *a, const struct run *b)
{
	return a->time < b->time || (a->time == b->time && a->at < b->at);
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

/* Read on in the earliest run for as long as it is the earliest. */
static void drain_first(struct run *heap, uint32_t *count, struct jfr_chunk *chunk, uint32_t kinds,
			void (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	struct run *run = &heap[0];
	const struct run *rival = *count > 1 ? &heap[1] : NULL;
	struct jfr_event event;
	struct jfr_scan scan;

	if (*count > 2 && earlier(&heap[2], rival))
		rival = &heap[2];
	jfr_scan(&scan, chunk, kinds);
	scan.at = chunk->data + run->at;
	scan.end = chunk->data + run->end;
	while (jfr_next(&scan, &event)) {
		run->time = event.slot[JFR_TIME];
		run->at = (uint32_t)(event.offset - chunk->header.offset);
		if (rival && earlier(rival, run)) {
			sink(heap, *count, 0);
			return;
		}
		visit(arg, &event);
	}
	heap[0] = heap[--*count];
	if (*count)
		sink(heap, *count, 0);
}

void runs_merge(struct runs *runs, struct jfr_chunk *chunk, uint32_t kinds,
		void (*visit)(void *arg, const struct jfr_event *event), void *arg)
{
	for (uint32_t i = runs->count / 2; i-- > 0;)
		sink(runs->list, runs->count, i);
	while (runs->count)
		drain_first(runs->list, &runs->count, chunk, kinds, visit, arg);
}
