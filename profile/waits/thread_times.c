/* Exact times of threads. */
#include "profile/waits/thread_times.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/aggregate/filter.h"
#include "profile/aggregate/resolve.h"
#include "profile/basics/array.h"

static const struct {
	const char *field;
	enum wait_state state;
} time_fields[] = {
	{ "cpuTime", WAIT_RUNNING },
	{ "runQueueTime", WAIT_RUNNABLE },
	{ "blockedTime", WAIT_WAITING },
};

/* Reader of one chunk. */
struct reader {
	struct thread_times *times;
	struct resolve resolve;
	struct filter filter;
	struct period period;
};

/* Returns the part of EVENT's duration that is within the period, 0 to 1. */
static double event_share(const struct reader *r, const struct jfr_event *event)
{
	const struct jfr_header *header = &r->resolve.chunk->header;
	double factor = ns_per_tick(header);
	int64_t start = ticks_to_ns_by(header, factor, event->slot[JFR_TIME]);
	double length = (double)event->slot[JFR_DURATION] * factor, from, to;

	if (!(length > 0))
		return start >= r->period.from_ns && start <= r->period.to_ns;
	from = r->period.from_ns > start ? (double)r->period.from_ns - (double)start : 0;
	to = (double)r->period.to_ns - (double)start;
	to = to < length ? to : length;
	return to > from ? (to - from) / length : 0;
}

static void reader_add_thread(struct reader *r, const struct jfr_event *event, double share)
{
	uint32_t thread = resolve_thread(&r->resolve, (uint64_t)event->slot[JFR_THREAD]);
	struct thread_times *times = r->times;

	if (!filter_thread(&r->filter, thread))
		return;
	if (array_reserve(&times->list, &times->capacity, thread, sizeof(*times->list))) {
		times->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < sizeof(time_fields) / sizeof(time_fields[0]); i++) {
		int64_t ns = (int64_t)jfr_event_get_integer(r->resolve.chunk, event,
							    time_fields[i].field);

		if (ns > 0)
			times->list[thread].states[time_fields[i].state] += (double)ns * share;
	}
}

static void reader_add_throttling(struct reader *r, const struct jfr_event *event, double share)
{
	int64_t ns = (int64_t)jfr_event_get_integer(r->resolve.chunk, event, "throttledTime");

	r->times->is_throttling_known = true;
	if (ns > 0)
		r->times->throttled_ns += (double)ns * share;
}

static void reader_read_events(struct reader *r)
{
	struct jfr_event event;
	struct jfr_scan scan;

	jfr_scan_start(&scan, r->resolve.chunk,
		       JFR_MASK(JFR_THREAD_TIMES) | JFR_MASK(JFR_THROTTLING));
	while (jfr_scan_next(&scan, &event)) {
		double share = event_share(r, &event);

		if (share <= 0)
			continue;
		if (event.kind == JFR_THREAD_TIMES)
			reader_add_thread(r, &event, share);
		else
			reader_add_throttling(r, &event, share);
	}
}

/* Damage was reported when the samples were read. */
static void read_chunk(struct reader *r, struct profile *profile, const struct query *query,
		       struct feed_chunk *from)
{
	struct jfr_chunk chunk;
	int err = jfr_chunk_open(&chunk, from->data, &from->header);

	if (err) {
		r->times->out_of_memory |= err != -EBADMSG;
		return;
	}
	chunk.is_mapped_file = !from->in_memory;
	if (jfr_type_by_name(&chunk, "asprof.ThreadTimes")) {
		resolve_open(&r->resolve, profile, query, &chunk, from);
		reader_read_events(r);
		resolve_close(&r->resolve);
	}
	jfr_chunk_close(&chunk);
}

int thread_times_read(struct thread_times *times, struct profile *profile,
		      const struct query *query, struct feed *feed)
{
	struct reader r = { .times = times, .filter = { .query = query, .profile = profile } };
	struct feed_chunk from;

	if (feed->calls->restart(feed, false))
		return -ENOMEM;
	if (period_resolve(&r.period, query, feed))
		r.period = (struct period){ INT64_MIN, INT64_MAX };
	while (feed->calls->next(feed, &from)) {
		read_chunk(&r, profile, query, &from);
		feed->calls->done(feed, &from);
	}
	filter_free(&r.filter);
	return feed_result(feed, times->out_of_memory || profile->out_of_memory);
}

void thread_times_free(struct thread_times *times)
{
	free(times->list);
	*times = (struct thread_times){ 0 };
}

static double sum_of(const struct thread_time *time)
{
	double sum = 0;

	for (unsigned state = 0; state < WAIT_STATES; state++)
		sum += time->states[state];
	return sum;
}

static uint32_t sample_state(const struct profile *p, const struct sample *s)
{
	return profile_wait(p, s->wait)->state;
}

/* Add up the samples by thread and state. Returns an array by thread ID, or NULL. */
static struct thread_time *sum_samples(const struct profile *p)
{
	struct thread_time *sums = calloc((size_t)p->threads.count + 1, sizeof(*sums));

	for (uint32_t i = 0; sums && i < p->count; i++)
		if (p->samples[i].metric == METRIC_WALL)
			sums[p->samples[i].thread].states[sample_state(p, &p->samples[i])] +=
				p->samples[i].total;
	return sums;
}

/* Add the time of the states of THREAD that have no sample. */
static void add_unsampled(struct profile *p, uint32_t thread, const struct thread_time *exact,
			  const struct thread_time *sampled)
{
	for (uint32_t state = WAIT_RUNNING; state < WAIT_STATES; state++) {
		struct wait wait = { .state = state };
		struct sample sample = { .thread = thread,
					 .metric = METRIC_WALL,
					 .total = exact->states[state] };

		if (sample.total <= 0 || sampled->states[state] > 0)
			continue;
		sample.wait = intern(&p->waits, &wait, sizeof(wait));
		profile_add_sample(p, &sample);
	}
}

double thread_times_scale(const struct thread_times *times, struct profile *p)
{
	struct thread_time *sums = sum_samples(p);
	uint32_t count = p->count, threads = p->threads.count;
	double exact = 0, all = 0;

	p->out_of_memory |= !sums;
	for (uint32_t t = 0; sums && t <= threads; t++) {
		bool is_exact = t < times->capacity && sum_of(&times->list[t]) > 0 &&
				sum_of(&times->list[t]) >= sum_of(&sums[t]) / 2;

		all += is_exact ? sum_of(&times->list[t]) : sum_of(&sums[t]);
		if (is_exact) {
			exact += sum_of(&times->list[t]);
			add_unsampled(p, t, &times->list[t], &sums[t]);
		} else {
			sums[t] = (struct thread_time){ 0 };
		}
	}
	for (uint32_t i = 0; sums && i < count; i++) {
		struct sample *s = &p->samples[i];
		uint32_t state = sample_state(p, s);

		if (s->metric == METRIC_WALL && state && sums[s->thread].states[state] > 0)
			sample_scale(s, times->list[s->thread].states[state] /
						sums[s->thread].states[state]);
	}
	free(sums);
	return all > 0 ? exact / all : 0;
}
