/* The last event at each address of one chunk. */
#include "profile/aggregate/last_table.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/aggregate/heap.h"

#define CAPACITY_LEAST 4096u
#define TIME_MAX       0x7fffffffu
#define STRETCH        65536u

int last_table_open(struct last_table *t, struct jfr_chunk *chunk)
{
	const struct jfr_header *header = &chunk->header;
	double ticks = (double)header->duration_ns / 1e9 * (double)header->ticks_per_second;

	*t = (struct last_table){ .chunk = chunk, .capacity = CAPACITY_LEAST };
	for (; ticks >= TIME_MAX && t->time_shift < 32; t->time_shift++)
		ticks /= 2;
	t->list = calloc(t->capacity, sizeof(*t->list));
	return t->list ? 0 : -ENOMEM;
}

void last_table_close(struct last_table *t)
{
	free(t->list);
	*t = (struct last_table){ 0 };
}

/* Equal for times that are close, and for those outside of what the chunk's header says. */
static uint32_t coarse_time(const struct last_table *t, int64_t ticks)
{
	int64_t start = t->chunk->header.start_ticks;
	uint64_t since = 0;

	if (ticks > start)
		since = ((uint64_t)ticks - (uint64_t)start) >> t->time_shift;
	return since < TIME_MAX ? (uint32_t)since : TIME_MAX;
}

/* Read the event again that ONE stands for. */
static bool read_again(const struct last_table *t, const struct last *one, struct jfr_event *event)
{
	struct jfr_scan scan;

	jfr_scan(&scan, t->chunk, LAST_KINDS);
	scan.at = scan.kept = t->chunk->data + one->at;
	return jfr_scan_next(&scan, event);
}

/* Of two events at one time the one that stands later in the file is the later one. */
static bool is_later(const struct last_table *t, const struct jfr_event *event, uint32_t time,
		     const struct last *than)
{
	struct jfr_event other;

	if (time != than->time)
		return time > than->time;
	return !read_again(t, than, &other) || event->slot[JFR_TIME] >= other.slot[JFR_TIME];
}

static struct last *find(const struct last_table *t, uint64_t address)
{
	uint32_t mask = t->capacity - 1, i = heap_hash(address) & mask;

	while (t->list[i].address && t->list[i].address != address)
		i = (i + 1) & mask;
	return &t->list[i];
}

/* By a factor that leaves the old table small beside the new one. */
static int grow(struct last_table *t)
{
	struct last_table bigger = *t;

	bigger.capacity = t->capacity * 4;
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

int last_table_note(struct last_table *t, const struct jfr_event *event)
{
	uint64_t address = (uint64_t)event->slot[JFR_ADDRESS];
	uint32_t time = coarse_time(t, event->slot[JFR_TIME]);
	struct last *last;

	if (t->count >= t->capacity / 4 * 3 && grow(t))
		return -ENOMEM;
	last = find(t, address);
	if (!last->address)
		t->count++;
	else if (!is_later(t, event, time, last))
		return 0;
	*last = (struct last){ .address = address,
			       .at = (uint32_t)(event->offset - t->chunk->header.offset),
			       .time = time & TIME_MAX,
			       .holds = event->kind == JFR_MALLOC && event->slot[JFR_SIZE] > 0 };
	return 0;
}

bool last_table_has(const struct last_table *t, uint64_t address)
{
	return find(t, address)->address;
}

static int by_place(const void *a, const void *b)
{
	const struct last *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

void last_table_keep_held(struct last_table *t)
{
	uint32_t n;

	t->count = 0;
	for (uint32_t i = 0; i < t->capacity; i++)
		if (t->list[i].address && t->list[i].holds)
			t->list[t->count++] = t->list[i];
	/* As qsort takes as much memory again. */
	for (uint32_t i = 0; i < t->count; i += n) {
		n = t->count - i < STRETCH ? t->count - i : STRETCH;
		qsort(&t->list[i], n, sizeof(*t->list), by_place);
	}
}
