/* Profile of one metric whose samples have times, and its marks. */
#include "profile/timed/timed_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/event_weight.h"
#include "profile/aggregate/heap.h"
#include "profile/timed/timed_read.h"
#include "profile/timed/timed_spans.h"

#define MARKS_MAX 20000

/* Bytes of samples with a context; spans of later ones are omitted. */
#define CONTEXTS_MAX (256u << 20)

/* Samples with a context, for the marks of their spans. */
struct reading {
	struct timed_profile *out;
	bool weighted;
	struct buf contexts; /* struct timed_sample */
	uint32_t samples_max;
	uint64_t parts; /* for event_parts() */
};

/* Longest row: with more samples than that allows, the profile grows. */
#define ROW_MS_MAX (INT64_C(1) << 30)

static int64_t round_time(const struct timed_profile *out, int64_t ms)
{
	return ms - ms % out->row_ms;
}

/* Double the duration of rows until less than three quarters of SAMPLES_MAX samples differ. */
static void lengthen_rows(struct timed_profile *out, uint32_t samples_max)
{
	struct profile *p = &out->profile;

	while (p->count > samples_max / 4 * 3 && out->row_ms < ROW_MS_MAX && !p->out_of_memory) {
		struct sample *samples = p->samples;
		uint32_t count = p->count;

		out->row_ms *= 2;
		free(p->slots);
		p->samples = NULL;
		p->slots = NULL;
		p->count = p->capacity = p->slot_count = 0;
		for (uint32_t i = 0; i < count; i++) {
			samples[i].time_ms = round_time(out, samples[i].time_ms);
			profile_add_sample(p, &samples[i]);
		}
		free(samples);
	}
}

/* Add S, an event of memory with a weight: it stands for S->count allocations of equal size. */
static void add_allocations(struct profile *profile, struct sample *s)
{
	double size = s->count > 0 ? s->total / s->count : 0;

	s->count_variance = mem_scale_variance(s->count);
	s->total_variance = s->count_variance * size * size;
	profile_add_sample(profile, s);
}

static int add_sample(void *arg, const struct timed_sample *s)
{
	struct reading *reading = arg;
	struct timed_profile *out = reading->out;
	int64_t parts =
		s->metric != METRIC_WALL ? 1 : event_parts((int64_t)s->count, &reading->parts);
	struct sample sample = { .stack = s->stack,
				 .thread = s->thread,
				 .context = s->context,
				 .wait = s->wait,
				 .metric = s->metric,
				 .count = s->count / (double)parts,
				 .total = s->total / (double)parts };

	if (s->context && buf_append(&reading->contexts, s, sizeof(*s)) == -ENOMEM)
		return -ENOMEM;
	for (int64_t i = 0; i < parts; i++) {
		int64_t offset = (int64_t)((double)s->duration_ns * (double)i / (double)parts);

		sample.time_ms = round_time(out, (s->time_ns + offset) / 1000000);
		if (s->metric == METRIC_MALLOC && reading->weighted)
			add_allocations(&out->profile, &sample);
		else
			profile_add_equal(&out->profile, &sample);
	}
	if (out->profile.count > reading->samples_max)
		lengthen_rows(out, reading->samples_max);
	return out->profile.out_of_memory ? -ENOMEM : 0;
}

static int add_mark(void *arg, const struct timed_mark *mark)
{
	struct timed_profile *out = ((struct reading *)arg)->out;
	int err = buf_append(&out->marks, mark, sizeof(*mark));

	out->marks_cut += err == -EFBIG;
	return err == -EFBIG ? 0 : err;
}

static int compare_samples(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Add the marks of the spans, thread by thread. */
static int add_spans(struct reading *reading)
{
	struct timed_sample *samples = (void *)reading->contexts.data;
	size_t count = reading->contexts.length / sizeof(*samples);
	int err = 0;

	if (count)
		qsort(samples, count, sizeof(*samples), compare_samples);
	for (size_t from = 0, to = 0; from < count && !err; from = to) {
		struct timed_group group = { .thread = samples[from].thread, .from = from };

		while (to < count && samples[to].thread == group.thread)
			to++;
		group.to = to;
		err = timed_spans_add(&reading->out->profile, samples, &group, add_mark, reading);
	}
	return err;
}

int timed_profile_read(struct timed_profile *out, const struct query *query, struct feed *feed,
		       enum metric metric, uint32_t samples_max)
{
	struct reading reading = { .out = out,
				   .weighted = query->weighted,
				   .contexts = BUF_INIT(CONTEXTS_MAX),
				   .samples_max = samples_max };
	const struct timed_visitor visitor = { .arg = &reading,
					       .sample = add_sample,
					       .mark = add_mark };
	int err;

	*out = (struct timed_profile){ .profile = PROFILE_INIT,
				       .row_ms = 1,
				       .marks = BUF_INIT(MARKS_MAX * sizeof(struct timed_mark)) };
	err = timed_read(&out->profile, query, feed, 1u << metric, &visitor);
	if ((!err || err == -EIO) && add_spans(&reading))
		err = -ENOMEM;
	buf_free(&reading.contexts);
	return err;
}

void timed_profile_free(struct timed_profile *profile)
{
	profile_free(&profile->profile);
	buf_free(&profile->marks);
}
