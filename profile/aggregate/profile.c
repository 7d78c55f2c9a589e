/* Profile: samples added up by stack, thread, metric and context. */
#include "profile/aggregate/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/hash.h"
#include "profile/basics/text.h"

const struct metric_text metric_texts[METRICS] = {
	[METRIC_ANY] = { "none", "samples", "samples" },
	[METRIC_CPU] = { "cpu", "samples", "nanoseconds" },
	[METRIC_WALL] = { "wall", "samples", "nanoseconds" },
	[METRIC_MALLOC] = { "alloc", "allocations", "bytes" },
	[METRIC_LIVE] = { "live", "allocations", "bytes" },
	[METRIC_OBJECT] = { "objects", "samples", "bytes" },
	[METRIC_LIVE_OBJECT] = { "live objects", "objects", "bytes" },
	[METRIC_LOCK] = { "lock", "events", "nanoseconds" },
};

static bool sample_has_key_of(const struct sample *a, const struct sample *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->context == b->context &&
	       a->wait == b->wait && a->metric == b->metric && a->time_ms == b->time_ms;
}

/* Returns the slot of the sample with the same key as KEY. */
static uint32_t *profile_find_slot(const struct profile *p, const struct sample *key)
{
	uint64_t hash = hash_add(hash_start(), (uint64_t)key->stack << 32 | key->thread);
	uint32_t mask = p->slot_count - 1, i;

	hash = hash_add(hash, (uint64_t)key->time_ms);
	hash = hash_add(hash, (uint64_t)key->wait << 32 | key->context);
	hash = hash_add(hash, key->metric);
	for (i = (uint32_t)(hash >> 32) & mask; p->slots[i]; i = (i + 1) & mask)
		if (sample_has_key_of(&p->samples[p->slots[i] - 1], key))
			break;
	return &p->slots[i];
}

static int profile_grow(struct profile *p)
{
	uint32_t capacity = p->capacity ? p->capacity * 2 : 128;
	struct sample *samples = realloc(p->samples, capacity * sizeof(*samples));
	uint32_t *slots = calloc(capacity * 2, sizeof(*slots));

	if (samples)
		p->samples = samples;
	if (!samples || !slots) {
		free(slots);
		return -1;
	}
	free(p->slots);
	p->slots = slots;
	p->slot_count = capacity * 2;
	p->capacity = capacity;
	for (uint32_t i = 0; i < p->count; i++)
		*profile_find_slot(p, &p->samples[i]) = i + 1;
	return 0;
}

void profile_add_equal(struct profile *p, struct sample *sample)
{
	sample->count_variance = sample->count;
	sample->total_variance =
		sample->count > 0 ? sample->total * sample->total / sample->count : 0;
	profile_add_sample(p, sample);
}

void sample_scale(struct sample *s, double factor)
{
	s->count *= factor;
	s->total *= factor;
	s->count_variance *= factor * factor;
	s->total_variance *= factor * factor;
}

double profile_effective(double whole, double variance)
{
	return variance > 0 ? whole * whole / variance : INFINITY;
}

static bool profile_has_equal_periods(const struct profile *p, enum metric metric)
{
	double shortest = (double)p->shortest_periods[metric];

	return !(shortest > 0) || shortest >= COSTS_KEPT_MIN * (double)p->periods[metric];
}

bool profile_needs_totals(const struct profile *p, enum metric metric)
{
	const struct costs *costs = &p->losses.costs;

	if (metric != METRIC_CPU && metric != METRIC_WALL)
		return metric_is_memory(metric);
	return !profile_has_equal_periods(p, metric) ||
	       costs_kept(costs, metric == METRIC_CPU ? COSTS_CPU : COSTS_WALL) < COSTS_KEPT_MIN;
}

double profile_effective_of(const struct profile *p, enum metric metric, bool by_total)
{
	double whole = 0, variance = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct sample *s = &p->samples[i];

		if (s->metric != (uint32_t)metric)
			continue;
		whole += by_total ? s->total : s->count;
		variance += by_total ? s->total_variance : s->count_variance;
	}
	return profile_effective(whole, variance);
}

void profile_add_sample(struct profile *p, const struct sample *add)
{
	struct sample *sample;
	uint32_t *slot;

	if (p->count == p->capacity && profile_grow(p)) {
		p->out_of_memory = true;
		return;
	}
	slot = profile_find_slot(p, add);
	if (!*slot) {
		p->samples[p->count++] = (struct sample){ .stack = add->stack,
							  .thread = add->thread,
							  .context = add->context,
							  .time_ms = add->time_ms,
							  .wait = add->wait,
							  .metric = add->metric };
		*slot = p->count;
	}
	sample = &p->samples[*slot - 1];
	sample->count += add->count;
	sample->total += add->total;
	sample->count_variance += add->count_variance;
	sample->total_variance += add->total_variance;
}

void profile_update_period(struct profile *p, enum metric metric, int64_t period)
{
	int64_t *shortest = &p->shortest_periods[metric];

	if (period > p->periods[metric])
		p->periods[metric] = period;
	if (period > 0 && (!*shortest || period < *shortest))
		*shortest = period;
}

void profile_update_periods(struct profile *p, const struct settings *s)
{
	profile_update_period(p, METRIC_CPU, s->cpu_interval_ns);
	profile_update_period(p, METRIC_WALL, s->wall_interval_ns);
	if (!p->periods[METRIC_WALL])
		p->periods[METRIC_WALL] = s->cpu_interval_ns;
	profile_update_period(p, METRIC_MALLOC, s->mem_interval);
	profile_update_period(p, METRIC_LIVE, s->mem_interval);
}

void profile_extend_span(struct profile *p, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < p->start_ns)
		p->start_ns = start_ns;
	if (end_ns > p->end_ns)
		p->end_ns = end_ns;
}

enum metric profile_choose_metric(const struct profile *p, enum metric wanted)
{
	uint32_t there = 0;

	for (uint32_t i = 0; i < p->count; i++)
		there |= 1u << p->samples[i].metric;
	if (wanted == METRIC_MALLOC && !(there & 1u << METRIC_MALLOC) &&
	    (there & 1u << METRIC_OBJECT))
		return METRIC_OBJECT;
	if (wanted == METRIC_LIVE && !(there & 1u << METRIC_LIVE) &&
	    (there & 1u << METRIC_LIVE_OBJECT))
		return METRIC_LIVE_OBJECT;
	for (uint32_t m = METRIC_CPU; wanted == METRIC_ANY && m < METRICS; m++)
		if (there & 1u << m)
			return (enum metric)m;
	return wanted == METRIC_ANY ? METRIC_CPU : wanted;
}

uint32_t metric_mask(enum metric wanted)
{
	switch (wanted) {
	case METRIC_ANY: /* without live memory, which needs a second pass over the files */
		return ~(1u << METRIC_LIVE);
	case METRIC_MALLOC:
		return 1u << METRIC_MALLOC | 1u << METRIC_OBJECT;
	case METRIC_LIVE:
		return 1u << METRIC_LIVE | 1u << METRIC_LIVE_OBJECT;
	default:
		return 1u << wanted;
	}
}

bool metric_is_memory(enum metric metric)
{
	return metric >= METRIC_MALLOC && metric <= METRIC_LIVE_OBJECT;
}

const struct frame *profile_frame(const struct profile *p, uint32_t id)
{
	static const struct frame none;

	return id && id <= p->frames.count ? intern_key(&p->frames, id) : &none;
}

const char *profile_frame_name(const struct profile *p, uint32_t id)
{
	return intern_text(&p->names, profile_frame(p, id)->name);
}

const struct wait *profile_wait(const struct profile *p, uint32_t id)
{
	return intern_key(&p->waits, id);
}

void profile_thread_name(const struct profile *p, uint32_t thread, char *name, size_t size)
{
	const struct thread_key *key = intern_key(&p->threads, thread);
	const char *text = intern_text(&p->names, key->name);

	if (!key->name)
		snprintf(name, size, "[tid=%u]", key->tid);
	else if (!key->tid)
		snprintf(name, size, "[%s]", text);
	else if (!strncmp(text, "[tid=", 5))
		snprintf(name, size, "%s", text);
	else
		snprintf(name, size, "[%s tid=%u]", text, key->tid);
	text_clean_string(name); /* snprintf() may have cut it inside a character */
}

void profile_stack_json(FILE *out, const struct profile *p, uint32_t stack)
{
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);

	fputc('[', out);
	for (uint32_t i = 0; i < depth; i++) {
		fputs(i ? "," : "", out);
		json_string(out, profile_frame_name(p, frames[i]));
	}
	fputc(']', out);
}

int profile_compare_threads(const struct profile *p, uint32_t a, uint32_t b)
{
	const struct thread_key *x = intern_key(&p->threads, a), *y = intern_key(&p->threads, b);

	if (!a || !b)
		return (a > b) - (a < b);
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return strcmp(intern_text(&p->names, x->name), intern_text(&p->names, y->name));
}

void profile_free(struct profile *p)
{
	intern_free(&p->names);
	intern_free(&p->frames);
	intern_free(&p->stacks);
	intern_free(&p->threads);
	intern_free(&p->waits);
	free(p->samples);
	free(p->slots);
	*p = (struct profile)PROFILE_INIT;
}
