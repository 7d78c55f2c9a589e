/* Weight of one event. */
#include "profile/aggregate/event_weight.h"

#include "profile/aggregate/heap.h"

/* Samples of one event: a larger number is damage, and could not be converted to double and back. */
#define COUNT_MAX (INT64_MAX >> 2)

bool event_weigh(struct resolve *resolve, const struct settings *settings,
		 const struct jfr_event *event, struct tally *t)
{
	const int64_t *slot = event->slot;
	double scale;

	*t = (struct tally){ .key = { .stack = (uint64_t)slot[JFR_STACK],
				      .thread = (uint64_t)slot[JFR_THREAD] },
			     .count = 1 };
	switch (event->kind) {
	case JFR_EXECUTION_SAMPLE:
	case JFR_WALL_SAMPLE:
		t->key.metric = resolve_is_cpu(resolve, event) ? METRIC_CPU : METRIC_WALL;
		if (event->kind == JFR_WALL_SAMPLE && slot[JFR_SAMPLES] > 0)
			t->count = slot[JFR_SAMPLES] < COUNT_MAX ? slot[JFR_SAMPLES] : COUNT_MAX;
		break;
	case JFR_MALLOC:
		t->key.metric = METRIC_MALLOC;
		t->total = slot[JFR_SIZE];
		scale = mem_scale(settings, slot[JFR_SIZE], slot[JFR_WEIGHT]);
		t->scaled_count = scale;
		t->scaled_total = scale * (double)slot[JFR_SIZE];
		t->count_variance = mem_scale_variance(scale);
		t->total_variance =
			t->count_variance * (double)slot[JFR_SIZE] * (double)slot[JFR_SIZE];
		return true;
	case JFR_OBJECT:
		t->key.metric = METRIC_OBJECT;
		t->key.class = (uint64_t)slot[JFR_CLASS];
		t->key.leaf = slot[JFR_TLAB] ? JFR_FRAME_INLINED : JFR_FRAME_KERNEL;
		t->total = slot[JFR_TLAB] ? slot[JFR_TLAB] : slot[JFR_SIZE];
		if (slot[JFR_WEIGHT])
			t->total = slot[JFR_WEIGHT];
		break;
	case JFR_LIVE_OBJECT:
		t->key.metric = METRIC_LIVE_OBJECT;
		t->key.class = (uint64_t)slot[JFR_CLASS];
		t->key.leaf = JFR_FRAME_INLINED;
		t->total = slot[JFR_SIZE];
		break;
	case JFR_LOCK:
		t->key.metric = METRIC_LOCK;
		t->key.class = (uint64_t)slot[JFR_CLASS];
		t->key.leaf = JFR_FRAME_INLINED;
		t->total = slot[JFR_WEIGHT] > 0 ? slot[JFR_WEIGHT] : slot[JFR_DURATION];
		break;
	default:
		return false;
	}
	t->scaled_count = (double)t->count;
	t->scaled_total = (double)t->total;
	return true;
}

double tally_total(const struct tally *t, const struct jfr_header *header,
		   const struct settings *settings)
{
	if (t->key.metric == METRIC_CPU)
		return (double)t->count * (double)settings->cpu_interval_ns;
	if (t->key.metric == METRIC_WALL)
		return (double)t->count * (double)(settings->wall_interval_ns
							   ? settings->wall_interval_ns
							   : settings->cpu_interval_ns);
	if (t->key.metric == METRIC_LOCK)
		return (double)t->total * (1e9 / (double)header->ticks_per_second);
	return (double)t->total;
}

/* An event has at most 4096 parts, and this part of the remaining ones. */
#define PARTS_SHARE (EVENT_PARTS_MAX / 4096)

int64_t event_parts(int64_t count, uint64_t *sum)
{
	int64_t most = 1 + (int64_t)((EVENT_PARTS_MAX - *sum) / PARTS_SHARE);
	int64_t parts = count < 1 ? 1 : count < most ? count : most;

	*sum += (uint64_t)parts - 1;
	return parts;
}
