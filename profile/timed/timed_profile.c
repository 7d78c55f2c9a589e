/* Profile of one metric whose samples have times, and its marks. */
#include "profile/timed/timed_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/timed/timed_read.h"

#define MARKS_MAX   20000
#define SPREAD_MAX  4096 /* samples that one event is spread over */
#define CONTEXT_MAX (1u << 20)

/* Returns the ID of CONTEXT's lines with the state; 0 when out of memory. */
static uint32_t context_with_state(struct timed_profile *out, uint32_t context, bool waits)
{
	struct intern *names = &out->profile.names;
	struct buf text = BUF_INIT(CONTEXT_MAX);
	uint32_t id = 0;

	if (!context && out->contexts[waits])
		return out->contexts[waits];
	if (!buf_append_string(&text, intern_text(names, context)) &&
	    !buf_append_string(&text, waits ? "state=waits\n" : "state=runs\n"))
		id = intern(names, text.data, text.length);
	buf_free(&text);
	if (!context)
		out->contexts[waits] = id;
	return id;
}

static int add_sample(void *arg, const struct timed_sample *s)
{
	struct timed_profile *out = arg;
	uint64_t count = s->count > 1 ? (uint64_t)s->count : 1;
	uint64_t parts = s->metric != METRIC_WALL ? 1 : count < SPREAD_MAX ? count : SPREAD_MAX;
	struct sample sample = { .stack = s->stack,
				 .thread = s->thread,
				 .context = s->context,
				 .metric = s->metric,
				 .count = s->count / (double)parts,
				 .total = s->total / (double)parts };

	if (s->metric == METRIC_WALL)
		sample.context = context_with_state(out, s->context, s->is_sleeping);
	sample.count_variance = sample.count;
	for (uint64_t i = 0; i < parts; i++) {
		int64_t offset = (int64_t)((double)s->duration_ns * (double)i / (double)parts);

		sample.time_ms = (s->time_ns + offset) / 1000000;
		profile_add_sample(&out->profile, &sample);
	}
	return out->profile.out_of_memory ? -ENOMEM : 0;
}

static int add_mark(void *arg, const struct timed_mark *mark)
{
	struct timed_profile *out = arg;
	int err = buf_append(&out->marks, mark, sizeof(*mark));

	out->marks_cut += err == -EFBIG;
	return err == -EFBIG ? 0 : err;
}

int timed_profile_read(struct timed_profile *out, const struct query *query, struct feed *feed,
		       enum metric metric)
{
	const struct timed_visitor visitor = { .arg = out, .sample = add_sample, .mark = add_mark };

	*out = (struct timed_profile){ .profile = PROFILE_INIT,
				       .marks = BUF_INIT(MARKS_MAX * sizeof(struct timed_mark)) };
	return timed_read(&out->profile, query, feed, 1u << metric, &visitor);
}

void timed_profile_free(struct timed_profile *profile)
{
	profile_free(&profile->profile);
	buf_free(&profile->marks);
}
