/* Filter of events by time, thread, stack and labels. */
#include "profile/aggregate/filter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"
#include "profile/basics/text.h"

#define DAY_NS (86400 * INT64_C(1000000000))

/* Flags of a cached result. */
enum { EVALUATED = 1, INCLUDED = 2, EXCLUDED = 4, MATCHED = 8 };

static int64_t moment_ns(const struct moment *moment, int64_t start_ns, int64_t end_ns)
{
	int64_t ns;

	if (moment->kind == MOMENT_ABSOLUTE)
		return moment->ns;
	if (moment->kind == MOMENT_OFFSET) {
		__builtin_add_overflow(moment->ns, moment->ns < 0 ? end_ns : start_ns, &ns);
		return ns;
	}
	/* A time of day is on the day of the recording's start, or on the next day if that is nearer. */
	ns = start_ns - start_ns % DAY_NS + moment->ns;
	return ns < start_ns && (double)ns + DAY_NS - (double)end_ns < (double)(start_ns - ns)
		       ? ns + DAY_NS
		       : ns;
}

int period_resolve(struct period *period, const struct query *query, struct feed *feed)
{
	int64_t start = 0, end = 0;
	bool relative = (query->from.kind && query->from.kind != MOMENT_ABSOLUTE) ||
			(query->to.kind && query->to.kind != MOMENT_ABSOLUTE);

	*period = (struct period){ INT64_MIN, INT64_MAX };
	if (relative && !feed->calls->span(feed, &start, &end))
		return -ENODATA;
	if (query->from.kind)
		period->from_ns = moment_ns(&query->from, start, end);
	if (query->to.kind)
		period->to_ns = moment_ns(&query->to, start, end);
	/* A period over midnight, of a recording that starts after midnight. */
	if (query->from.kind == MOMENT_DAY && period->from_ns > end &&
	    (query->length_ns
		     ? (double)period->from_ns + (double)query->length_ns >= (double)start + DAY_NS
		     : query->to.kind == MOMENT_DAY && period->from_ns > period->to_ns))
		period->from_ns -= DAY_NS;
	if (query->length_ns &&
	    __builtin_add_overflow(period->from_ns, query->length_ns, &period->to_ns))
		period->to_ns = INT64_MAX;
	return 0;
}

bool period_covers(const struct period *period, const struct jfr_header *header, int64_t *start_ns,
		   int64_t *end_ns)
{
	int64_t start = header->start_ns, end;

	if (__builtin_add_overflow(header->start_ns, header->duration_ns, &end))
		end = header->start_ns;
	*start_ns = period->from_ns > start ? period->from_ns : start;
	*end_ns = period->to_ns < end ? period->to_ns : end;
	return *start_ns <= *end_ns;
}

void period_add_chunk(const struct period *period, struct profile *profile,
		      const struct jfr_header *header)
{
	int64_t start, end;

	profile->chunks++;
	if (period_covers(period, header, &start, &end))
		profile_extend_span(profile, start, end);
}

static int64_t ns_to_ticks(const struct jfr_header *header, int64_t ns)
{
	double ticks =
		((double)ns - (double)header->start_ns) * ((double)header->ticks_per_second / 1e9);
	int64_t sum;

	if (ns == INT64_MIN || ns == INT64_MAX)
		return ns;
	if (!(fabs(ticks) < 4e18))
		return ticks < 0 ? INT64_MIN : INT64_MAX;
	__builtin_add_overflow((int64_t)ticks, header->start_ticks, &sum);
	return sum;
}

void period_ticks(const struct period *period, const struct jfr_header *header, int64_t *from,
		  int64_t *to)
{
	*from = ns_to_ticks(header, period->from_ns);
	*to = ns_to_ticks(header, period->to_ns);
}

int64_t ticks_to_ns(const struct jfr_header *header, int64_t ticks)
{
	return ticks_to_ns_by(header, ns_per_tick(header), ticks);
}

/* Returns the cached result of ID; NULL when out of memory. */
static uint8_t *filter_reserve_result(uint8_t **results, uint32_t *room, uint32_t id)
{
	return array_reserve(results, room, id, sizeof(**results)) ? NULL : *results + id;
}

static bool thread_matches(struct filter *f, uint32_t thread)
{
	const struct thread_key *key = intern_key(&f->profile->threads, thread);
	uint8_t *result = filter_reserve_result(&f->threads, &f->thread_capacity, thread);
	char tid[16];

	if (!result)
		return true;
	if (!*result) {
		snprintf(tid, sizeof(tid), "%u", key->tid);
		*result = EVALUATED;
		if (pattern_matches(&f->query->thread,
				    intern_text(&f->profile->names, key->name)) ||
		    pattern_matches(&f->query->thread, tid))
			*result |= MATCHED;
	}
	return *result & MATCHED;
}

bool filter_thread(struct filter *f, uint32_t thread)
{
	return !f->query->thread.set || thread_matches(f, thread);
}

static uint8_t match_text(const struct filter *f, const char *text)
{
	return (uint8_t)(EVALUATED | (pattern_matches(&f->query->include, text) ? INCLUDED : 0) |
			 (pattern_matches(&f->query->exclude, text) ? EXCLUDED : 0));
}

static uint8_t match_name(struct filter *f, uint32_t name)
{
	uint8_t *result = filter_reserve_result(&f->names, &f->name_capacity, name);

	if (!result)
		return INCLUDED;
	if (!*result)
		*result = match_text(f, intern_text(&f->profile->names, name));
	return *result;
}

static bool stack_matches(struct filter *f, uint32_t stack, uint32_t thread)
{
	const uint32_t *frames = intern_key(&f->profile->stacks, stack);
	uint32_t depth = intern_length(&f->profile->stacks, stack) / sizeof(*frames);
	uint8_t all = 0;
	char name[256];

	for (uint32_t i = 0; i < depth; i++)
		all |= match_name(f, profile_frame(f->profile, frames[i])->name);
	if (f->query->threads) {
		profile_thread_name(f->profile, thread, name, sizeof(name));
		all |= match_text(f, name);
	}
	return !(all & EXCLUDED) && (!f->query->include.set || (all & INCLUDED));
}

bool filter_stack(struct filter *f, uint32_t stack, uint32_t thread)
{
	return (!f->query->include.set && !f->query->exclude.set) ||
	       stack_matches(f, stack, thread);
}

void filter_set_recording(struct filter *f, uint32_t labels)
{
	if (labels != f->labels && f->contexts)
		memset(f->contexts, 0, f->context_capacity * sizeof(*f->contexts));
	f->labels = labels;
}

bool filter_wants_contexts(const struct query *query)
{
	return query->label_count || query->trace;
}

/* Whether the recording or the sample has any of the query's labels with LABEL's key. */
static bool has_any_value_of_label(const struct query *query, const char *label,
				   const char *recording, const char *sample)
{
	size_t key = strcspn(label, "=") + 1;

	for (unsigned i = 0; i < query->label_count; i++) {
		const char *other = query->labels[i];

		if (!strncmp(other, label, key) && (text_find_line(recording, other, false) ||
						    text_find_line(sample, other, false)))
			return true;
	}
	return false;
}

static bool context_matches(const struct filter *f, uint32_t context)
{
	const char *recording = intern_text(&f->profile->names, f->labels);
	const char *sample = intern_text(&f->profile->names, context);
	char trace[64];

	for (unsigned i = 0; i < f->query->label_count; i++)
		if (!has_any_value_of_label(f->query, f->query->labels[i], recording, sample))
			return false;
	if (!f->query->trace)
		return true;
	snprintf(trace, sizeof(trace), "trace_id=%s", f->query->trace);
	return text_find_line(sample, trace, false);
}

bool filter_context(struct filter *f, uint32_t context)
{
	uint8_t *result;

	if (!filter_wants_contexts(f->query))
		return true;
	result = filter_reserve_result(&f->contexts, &f->context_capacity, context);
	if (!result)
		return true;
	if (!*result)
		*result = context_matches(f, context) ? EVALUATED | MATCHED : EVALUATED;
	return *result & MATCHED;
}

bool filter_wait(const struct filter *f, uint32_t wait)
{
	return wait_matches(profile_wait(f->profile, wait), f->query->states, f->query->causes);
}

void filter_free(struct filter *filter)
{
	free(filter->names);
	free(filter->threads);
	free(filter->contexts);
}
