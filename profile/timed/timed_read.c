/* Reader of single samples and marks. */
#include "profile/timed/timed_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/aggregate/event_weight.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/resolve.h"
#include "profile/aggregate/resolve_wait.h"
#include "profile/basics/names.h"
#include "profile/basics/text.h"
#include "profile/jfr/polls.h"

const char *const timed_mark_names[TIMED_MARKS] = {
	[TIMED_STALL] = "stall",         [TIMED_POLL] = "long poll",
	[TIMED_CRASH] = "crash",         [TIMED_LOSSES] = "lost samples",
	[TIMED_REPORT] = "report",       [TIMED_GC] = "garbage collection",
	[TIMED_SAFEPOINT] = "safepoint", [TIMED_SPAN] = "span",
};

/* Events that the reader has no kind for. */
static const struct {
	const char *type;
	enum timed_mark_kind kind;
} marked_types[] = {
	{ "asprof.Crash", TIMED_CRASH },
	{ "jdk.GarbageCollection", TIMED_GC },
	{ "jdk.ExecuteVMOperation", TIMED_SAFEPOINT },
	{ "jdk.SafepointBegin", TIMED_SAFEPOINT },
};

#define SAMPLE_KINDS                                                                         \
	(JFR_MASK(JFR_EXECUTION_SAMPLE) | JFR_MASK(JFR_WALL_SAMPLE) | JFR_MASK(JFR_MALLOC) | \
	 JFR_MASK(JFR_OBJECT) | JFR_MASK(JFR_LIVE_OBJECT) | JFR_MASK(JFR_LOCK))
#define MARK_KINDS (JFR_MASK(JFR_STALL) | JFR_MASK(JFR_OTHER))

/* Waits of the chunk's recent stacks. A guess reads a stack's functions, so it is made once. */
#define KNOWN_WAITS 1024

struct known_wait {
	struct stored_wait stored; /* stack 0: free */
	uint32_t id;
};

struct reader {
	struct profile *profile;
	const struct query *query;
	const struct timed_visitor *visitor;
	struct feed *feed;
	struct period period;
	uint32_t metrics;
	struct wait_looks looks;

	/* The current chunk. */
	struct resolve resolve;
	struct filter filter;
	const struct feed_chunk *from;
	struct settings settings;
	double factor;   /* ns per tick */
	uint32_t report; /* name of the last file with a mark, in the profile's names */
	struct known_wait waits[KNOWN_WAITS];
};

static int64_t limit_time(int64_t ns)
{
	return ns < -TIMED_NS_MAX ? -TIMED_NS_MAX : ns > TIMED_NS_MAX ? TIMED_NS_MAX : ns;
}

static int64_t limit_duration(double ns)
{
	return !(ns > 0) ? 0 : ns < (double)TIMED_DURATION_MAX ? (int64_t)ns : TIMED_DURATION_MAX;
}

static int64_t reader_time(const struct reader *r, int64_t ticks)
{
	return limit_time(ticks_to_ns_by(&r->from->header, r->factor, ticks));
}

static int64_t reader_span(const struct reader *r, int64_t ticks)
{
	return limit_duration((double)ticks * r->factor);
}

static int64_t sample_duration(const struct reader *r, const struct jfr_event *event,
			       const struct timed_sample *s)
{
	double ns = s->total;

	if (s->metric != METRIC_CPU && s->metric != METRIC_WALL && s->metric != METRIC_LOCK)
		return 0;
	/* The span of a wall clock event is from its first sample to the last one. */
	if (s->metric == METRIC_LOCK) /* its total is a weight */
		ns = (double)event->slot[JFR_DURATION] * r->factor;
	if (s->metric == METRIC_WALL && event->slot[JFR_SPAN] > 0)
		ns = (double)event->slot[JFR_SPAN] * r->factor + s->total / s->count;
	return limit_duration(ns);
}

static uint32_t find_wait(struct reader *r, const struct stored_wait *stored)
{
	struct known_wait *known =
		&r->waits[(stored->stack ^ stored->wait ^ stored->state << 8) % KNOWN_WAITS];

	if (!stored->stack || memcmp(&known->stored, stored, sizeof(*stored)) != 0)
		*known = (struct known_wait){ *stored, resolve_wait(&r->resolve, stored) };
	return known->id;
}

/* Set the wait of S. Returns whether the query wants such a sample. */
static bool read_wait(struct reader *r, const struct jfr_event *event, struct timed_sample *s)
{
	const struct stored_wait stored = {
		.wait = resolve_wait_key(&r->resolve, event, resolve_looks_within_ns(&r->settings)),
		.owner_stack = r->query->waits == WAIT_PARTS_OWNER
				       ? (uint64_t)event->slot[JFR_OWNER_STACK]
				       : 0,
		.state = (uint64_t)event->slot[JFR_STATE],
		.stack = (uint64_t)event->slot[JFR_STACK]
	};

	if (s->metric == METRIC_WALL && query_wants_waits(r->query))
		s->wait = find_wait(r, &stored);
	return filter_wait(&r->filter, s->wait);
}

static int read_sample(struct reader *r, const struct jfr_event *event)
{
	struct resolve *resolve = &r->resolve;
	struct timed_sample s = { 0 };
	struct tally one;

	if (!event_weigh(resolve, &r->settings, event, &one) ||
	    !(r->metrics & 1u << one.key.metric))
		return 0;
	s.metric = (uint16_t)one.key.metric;
	s.thread = resolve_thread(resolve, one.key.thread);
	s.context = resolve_context(resolve, (uint64_t)event->slot[JFR_CONTEXT]);
	if (!filter_thread(&r->filter, s.thread) || !filter_context(&r->filter, s.context) ||
	    !read_wait(r, event, &s))
		return 0;
	s.stack = resolve_stack(resolve, one.key.stack, one.key.class,
				(enum jfr_frame_type)one.key.leaf);
	if (!filter_stack(&r->filter, s.stack, s.thread))
		return 0;
	s.time_ns = reader_time(r, event->slot[JFR_TIME]);
	s.count = (double)one.count;
	s.total = tally_total(&one, &r->from->header, &r->settings);
	if (s.metric == METRIC_MALLOC && r->query->weighted) {
		s.count = one.scaled_count;
		s.total = one.scaled_total;
	}
	s.duration_ns = sample_duration(r, event, &s);
	s.is_sleeping = s.metric == METRIC_WALL && resolve_is_sleeping(resolve, event);
	return r->visitor->sample(r->visitor->arg, &s);
}

static int emit_mark(struct reader *r, struct timed_mark *mark)
{
	if (!r->visitor->mark || !filter_thread(&r->filter, mark->thread))
		return 0;
	mark->labels = r->resolve.labels;
	return r->visitor->mark(r->visitor->arg, mark);
}

static int read_mark(struct reader *r, const struct jfr_event *event)
{
	struct timed_mark mark = { .kind = TIMED_MARKS };

	if (event->kind == JFR_STALL)
		mark.kind = TIMED_STALL;
	for (size_t i = 0; event->type && i < sizeof(marked_types) / sizeof(marked_types[0]); i++)
		if (!strcmp(event->type->name, marked_types[i].type))
			mark.kind = marked_types[i].kind;
	if (mark.kind == TIMED_MARKS)
		return 0;
	mark.time_ns = reader_time(r, event->slot[JFR_TIME]);
	mark.duration_ns = reader_span(r, event->slot[JFR_DURATION]);
	if (mark.kind == TIMED_STALL || mark.kind == TIMED_CRASH) {
		mark.thread = resolve_thread(&r->resolve, (uint64_t)event->slot[JFR_THREAD]);
		mark.stack = resolve_stack(&r->resolve, (uint64_t)event->slot[JFR_STACK], 0,
					   JFR_FRAME_NATIVE);
	}
	return emit_mark(r, &mark);
}

/* The losses are those of the whole chunk. FROM and TO are the period, for their mark. */
static int read_losses(struct reader *r, const struct jfr_event *event, int64_t from, int64_t to)
{
	struct losses losses = { 0 };
	struct timed_mark mark = { .kind = TIMED_LOSSES,
				   .time_ns = reader_time(r, event->slot[JFR_TIME]) };
	char text[64];

	losses_read(&losses, r->resolve.chunk, event);
	losses_add(&r->profile->losses, &losses);
	if (!losses.lost || event->slot[JFR_TIME] < from || event->slot[JFR_TIME] > to)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " samples", losses.lost,
		 losses.taken + losses.lost);
	mark.text = names_intern(&r->profile->names, text);
	return emit_mark(r, &mark);
}

/* Polls, and async-profiler's stalls, are user events. */
static int read_polls(struct reader *r, enum timed_mark_kind kind,
		      int (*read)(struct polls *polls, struct jfr_chunk *chunk), int64_t from,
		      int64_t to)
{
	struct polls polls = POLLS_INIT;
	int err = read(&polls, r->resolve.chunk);
	const struct poll *list = (const void *)polls.list.data;

	for (size_t i = 0; i < polls.count && !err; i++) {
		struct timed_mark mark = { .kind = kind,
					   .time_ns = reader_time(r, (int64_t)list[i].start),
					   .duration_ns = reader_span(r, (int64_t)list[i].duration),
					   .thread = resolve_thread(&r->resolve, list[i].tid) };

		if ((int64_t)list[i].start >= from && (int64_t)list[i].start <= to &&
		    (kind != TIMED_POLL || mark.duration_ns >= TIMED_POLL_MIN_NS))
			err = emit_mark(r, &mark);
	}
	polls_free(&polls);
	return err;
}

/* A report is a file of one or more chunks. */
static int read_chunk_start(struct reader *r)
{
	struct timed_mark mark = { .kind = TIMED_REPORT,
				   .time_ns = limit_time(r->from->header.start_ns) };
	int64_t start, end;

	if (!r->from->header.duration_ns ||
	    !period_covers(&r->period, &r->from->header, &start, &end) ||
	    start != r->from->header.start_ns)
		return 0;
	mark.text = names_intern(&r->profile->names, text_base_name(r->from->file));
	if (mark.text == r->report)
		return 0;
	r->report = mark.text;
	return emit_mark(r, &mark);
}

static int read_events(struct reader *r)
{
	struct jfr_chunk *chunk = r->resolve.chunk;
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t from, to;
	bool inside = period_covers(&r->period, &chunk->header, &from, &to);
	int err = read_chunk_start(r);

	period_ticks(&r->period, &chunk->header, &from, &to);
	jfr_scan_start(&scan, chunk,
		       SAMPLE_KINDS | MARK_KINDS | JFR_MASK(JFR_SETTING) | JFR_MASK(JFR_LOSSES) |
			       JFR_MASK(JFR_COST));
	while (!err && jfr_scan_next(&scan, &event)) {
		if (event.kind == JFR_SETTING)
			settings_read_event(&r->settings, chunk, &event);
		else if (event.kind == JFR_COST && inside)
			costs_read(&r->profile->losses.costs, chunk, &event);
		else if (event.kind == JFR_LOSSES && inside)
			err = read_losses(r, &event, from, to);
		else if (!event.type || event.slot[JFR_TIME] < from || event.slot[JFR_TIME] > to)
			continue;
		else if (JFR_MASK(event.kind) & MARK_KINDS)
			err = r->visitor->mark ? read_mark(r, &event) : 0;
		else
			err = read_sample(r, &event);
	}
	if (!err && r->visitor->mark)
		err = read_polls(r, TIMED_POLL, polls_read, from, to);
	if (!err && r->visitor->mark)
		err = read_polls(r, TIMED_STALL, polls_read_stalls, from, to);
	return err;
}

static int read_chunk(struct reader *r, const struct feed_chunk *from)
{
	struct jfr_chunk chunk;
	int err = jfr_chunk_open(&chunk, from->data, &from->header);

	if (err) {
		if (err == -EBADMSG)
			r->feed->calls->damage(r->feed, from, &chunk.error);
		return err == -EBADMSG ? 0 : err;
	}
	chunk.is_mapped_file = !from->in_memory;
	r->from = from;
	r->settings = from->settings;
	r->factor = ns_per_tick(&from->header);
	period_add_chunk(&r->period, r->profile, &from->header);
	resolve_open(&r->resolve, r->profile, r->query, &chunk, from);
	resolve_use_looks(&r->resolve, r->looks.count ? &r->looks : NULL, from);
	filter_set_recording(&r->filter, r->resolve.labels);
	memset(r->waits, 0, sizeof(r->waits));
	err = read_events(r);
	if (!err && r->visitor->chunk_end)
		err = r->visitor->chunk_end(r->visitor->arg, from, r->resolve.labels);
	if (chunk.error.what)
		r->feed->calls->damage(r->feed, from, &chunk.error);
	profile_update_periods(r->profile, &r->settings);
	resolve_close(&r->resolve);
	jfr_chunk_close(&chunk);
	return err;
}

int timed_read(struct profile *profile, const struct query *query, struct feed *feed,
	       uint32_t metrics, const struct timed_visitor *visitor)
{
	struct reader r = { .profile = profile,
			    .query = query,
			    .visitor = visitor,
			    .feed = feed,
			    .metrics = metrics };
	struct feed_chunk from;
	int err;

	*profile = (struct profile)PROFILE_INIT;
	r.filter = (struct filter){ .query = query, .profile = profile };
	err = wait_looks_read(&r.looks, query, feed);
	if (!err)
		err = feed->calls->restart(feed, true);
	if (!err && period_resolve(&r.period, query, feed))
		r.period = (struct period){ INT64_MIN, INT64_MAX };
	while (!err && feed->calls->next(feed, &from)) {
		err = read_chunk(&r, &from);
		feed->calls->done(feed, &from);
	}
	filter_free(&r.filter);
	wait_looks_free(&r.looks);
	if (profile->start_ns > profile->end_ns) /* no chunk has a time */
		profile->start_ns = profile->end_ns = 0;
	profile->start_ns = limit_time(profile->start_ns);
	profile->end_ns = limit_time(profile->end_ns);
	return err ? err : feed_result(feed, profile->out_of_memory);
}
