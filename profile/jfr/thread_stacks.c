/* Stacks of a chunk's wall-clock samples by thread and time. */
#include "profile/jfr/thread_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/basics/array.h"

struct thread_stack {
	uint32_t tid;
	int64_t from, to; /* ticks */
	uint64_t stack;
};

/* The most of a recording's numbers that are believed, against overflow. */
#define SAMPLES_MAX 1000000

static int compare(const void *a, const void *b)
{
	const struct thread_stack *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int add_sample(struct thread_stacks *stacks, struct jfr_chunk *chunk,
		      const struct jfr_event *event, int64_t interval_ticks)
{
	int64_t tid, samples = event->slot[JFR_SAMPLES];

	if (!jfr_event_thread_id(chunk, event, "sampledThread", &tid))
		return 0;
	if (array_reserve(&stacks->rows, &stacks->capacity, stacks->count, sizeof(*stacks->rows)))
		return -ENOMEM;
	samples = samples < 1 ? 1 : samples < SAMPLES_MAX ? samples : SAMPLES_MAX;
	stacks->rows[stacks->count++] = (struct thread_stack){
		.tid = (uint32_t)tid,
		.from = event->slot[JFR_TIME],
		.to = jfr_ticks_sum(event->slot[JFR_TIME],
				    (int64_t)((uint64_t)(samples - 1) * (uint64_t)interval_ticks)),
		.stack = (uint64_t)event->slot[JFR_STACK],
	};
	return 0;
}

int thread_stacks_read(struct thread_stacks *stacks, struct jfr_chunk *chunk,
		       int64_t interval_ticks)
{
	struct jfr_event event;
	struct jfr_scan scan;
	int err = 0;

	jfr_scan_start(&scan, chunk, JFR_MASK(JFR_WALL_SAMPLE));
	while (!err && jfr_scan_next(&scan, &event))
		err = add_sample(stacks, chunk, &event, interval_ticks);
	if (stacks->count)
		qsort(stacks->rows, stacks->count, sizeof(*stacks->rows), compare);
	return err;
}

void thread_stacks_free(struct thread_stacks *stacks)
{
	free(stacks->rows);
	*stacks = (struct thread_stacks){ 0 };
}

uint64_t thread_stacks_find(const struct thread_stacks *stacks, uint32_t tid, int64_t ticks,
			    int64_t within_ticks)
{
	const struct thread_stack *row,
		wanted = { .tid = tid, .from = jfr_ticks_sum(ticks, within_ticks) };
	uint32_t low = 0, high = stacks->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare(&stacks->rows[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	row = low ? &stacks->rows[low - 1] : NULL;
	return row && row->tid == tid && jfr_ticks_sum(row->to, within_ticks) >= ticks ? row->stack
										       : 0;
}
