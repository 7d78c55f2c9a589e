/* Summary of recordings. */
#include "profile/aggregate/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/filter.h"
#include "profile/aggregate/resolve.h"
#include "profile/basics/names.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"

const struct loss_cause summary_causes[SUMMARY_CAUSES] = {
	{ "ringFull",
	  "samples: taken faster than they were collected; lengthen the sampling intervals" },
	{ "late", "samples: due while their thread could not take them" },
	{ "eventsDropped", "events: not written for lack of memory or space" },
	{ "stackTableFull", "stacks: too many different ones in a report; shorten "
			    "ASPROF_AGENT_REPORTING_INTERVAL, or raise a low ASPROF_AGENT_MEMORY" },
	{ "threadTableFull", "events: without the name of their thread, as there are too many; or "
			     "raise a low ASPROF_AGENT_MEMORY" },
	{ "contextTableFull",
	  "samples: kept without their labels or wait, of too many different ones" },
	{ "retainedStacksCut",
	  "stacks of retained memory: cut, as there are too many; raise ASPROF_AGENT_NATIVE_MEM" },
	{ "tableEvictions",
	  "living allocations: too many at once to be followed; raise ASPROF_AGENT_NATIVE_MEM" },
	{ "stalls", "stalls: more per second than are recorded" },
	{ "memoryRefused", "requests for memory: refused, as the agent's memory is full; raise "
			   "ASPROF_AGENT_MEMORY" },
	{ "timerFailures", "threads: no timer could be set" },
};

/* Events of types that the chunk does not describe. */
#define UNDESCRIBED_TYPE "(metadata and constants)"

static void summary_add_type(struct summary *s, const char *name, const struct event_count *count)
{
	uint32_t id = names_intern(&s->profile.names, name);

	if (!id || array_reserve(&s->types, &s->room, id, sizeof(*s->types))) {
		s->out_of_memory = true;
		return;
	}
	s->types[id].name = intern_text(&s->profile.names, id);
	s->types[id].events += count->events;
	s->types[id].bytes += count->bytes;
}

/* Add the losses in EVENT, which only the builtin engine writes. */
static void summary_add_losses(struct summary *s, const struct jfr_chunk *chunk,
			       const struct jfr_event *event)
{
	s->has_losses = true;
	for (size_t i = 0; i < SUMMARY_CAUSES; i++)
		s->lost[i] += jfr_event_get_integer(chunk, event, summary_causes[i].field);
}

static void summary_add_thread(struct summary *s, uint32_t thread, uint64_t events)
{
	if (array_reserve(&s->threads, &s->thread_capacity, thread, sizeof(*s->threads)))
		s->out_of_memory = true;
	else
		s->threads[thread] += events;
}

/* Whether the query includes EVENT. Metadata and constants have no time and belong to no period or
 * thread. */
static bool summary_wants_event(const struct summary *s, struct resolve *resolve,
				struct filter *filter, const struct jfr_event *event, int64_t from,
				int64_t to)
{
	int64_t time = event->slot[JFR_TIME];

	if (!s->query->thread.set && !s->query->from.kind && !s->query->to.kind)
		return true;
	if (!event->type || time < from || time > to)
		return false;
	return !s->query->thread.set ||
	       (event->kind != JFR_OTHER && event->slot[JFR_THREAD] &&
		filter_thread(filter, resolve_thread(resolve, (uint64_t)event->slot[JFR_THREAD])));
}

static bool is_jvm_library(const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	static const char name[] = "/libjvm.so";
	struct buf path = BUF_INIT(65536);
	struct jfr_value value;
	bool is = jfr_event_get_field(chunk, event, "name", &value) &&
		  jfr_value_append_string(chunk, &value, &path) &&
		  memmem(path.data, path.length, name, strlen(name));

	buf_free(&path);
	return is;
}

static void summary_count_metric(struct summary *s, struct resolve *resolve,
				 const struct jfr_event *event)
{
	static const enum metric metrics[JFR_KINDS] = {
		[JFR_MALLOC] = METRIC_MALLOC,
		[JFR_OBJECT] = METRIC_OBJECT,
		[JFR_LIVE_OBJECT] = METRIC_LIVE_OBJECT,
		[JFR_LOCK] = METRIC_LOCK,
	};

	if (event->kind == JFR_EXECUTION_SAMPLE || event->kind == JFR_WALL_SAMPLE)
		s->metrics[resolve_is_cpu(resolve, event) ? METRIC_CPU : METRIC_WALL]++;
	else
		s->metrics[metrics[event->kind]]++;
}

/* Add EVENT to its process's sparkline, if it is a sample of CPU time. */
static void summary_add_spark(struct summary *s, struct resolve *resolve,
			      const struct jfr_event *event, double factor)
{
	const char *process, *labels = intern_text(&s->profile.names, resolve->labels);
	char name[128];

	if ((event->kind != JFR_EXECUTION_SAMPLE && event->kind != JFR_WALL_SAMPLE) ||
	    !resolve_is_cpu(resolve, event))
		return;
	process = text_find_line(labels, "process", true);
	snprintf(name, sizeof(name), "%.*s", process ? (int)strcspn(process, "\n") : 0,
		 process ? process : "");
	text_clean_string(name);
	if (!sparks_add(&s->sparks, name,
			ticks_to_ns_by(&resolve->chunk->header, factor, event->slot[JFR_TIME]),
			event->kind == JFR_WALL_SAMPLE && event->slot[JFR_SAMPLES] > 0
				? (uint64_t)event->slot[JFR_SAMPLES]
				: 1))
		s->out_of_memory = true;
}

static void summary_count_events(struct summary *s, struct resolve *resolve,
				 struct settings *settings, bool *java)
{
	struct jfr_chunk *chunk = resolve->chunk;
	struct event_count *counts = calloc(chunk->type_count + 1, sizeof(*counts));
	struct jfr_event event;
	struct jfr_scan scan;
	struct filter filter = { .query = s->query, .profile = &s->profile };
	double factor = ns_per_tick(&chunk->header);
	int64_t from, to;
	bool inside = period_covers(&s->period, &chunk->header, &from, &to);
	size_t index;

	period_ticks(&s->period, &chunk->header, &from, &to);
	jfr_scan_start(&scan, chunk, ~0u);
	while (counts && jfr_scan_next(&scan, &event)) {
		if (event.kind == JFR_SETTING)
			settings_read_event(settings, chunk, &event);
		/* Of the whole chunk, and of all threads. */
		if (event.kind == JFR_LOSSES && inside)
			summary_add_losses(s, chunk, &event);
		else if (event.kind == JFR_COST && inside)
			costs_read(&s->costs, chunk, &event);
		if (!summary_wants_event(s, resolve, &filter, &event, from, to))
			continue;
		index = event.type ? (size_t)(event.type - chunk->types) : chunk->type_count;
		counts[index].events++;
		counts[index].bytes += event.size;
		if (event.kind == JFR_LIBRARY && is_jvm_library(chunk, &event))
			*java = true;
		if (event.kind != JFR_LOSSES && event.kind != JFR_COST && event.kind != JFR_OTHER &&
		    event.kind != JFR_THREAD_TIMES && event.kind != JFR_LOGGED_STATE &&
		    event.slot[JFR_THREAD])
			summary_add_thread(
				s, resolve_thread(resolve, (uint64_t)event.slot[JFR_THREAD]), 1);
		if (s->want_metrics)
			summary_count_metric(s, resolve, &event);
		if (s->want_sparks)
			summary_add_spark(s, resolve, &event, factor);
	}
	for (size_t i = 0; counts && i <= chunk->type_count; i++)
		if (counts[i].events)
			summary_add_type(
				s, i < chunk->type_count ? chunk->types[i].name : UNDESCRIBED_TYPE,
				&counts[i]);
	s->out_of_memory |= !counts;
	filter_free(&filter);
	free(counts);
}

/* Keep the later settings; of two at the same time, the choice does not depend on which thread read
 * which chunk. */
static void summary_update_settings(struct summary *s, const struct settings *settings,
				    int64_t since_ns)
{
	if (since_ns < s->settings_ns ||
	    (since_ns == s->settings_ns && memcmp(settings, &s->settings, sizeof(*settings)) < 0))
		return;
	s->settings = *settings;
	s->settings_ns = since_ns;
}

static void summary_add_engine(struct summary *s, const struct settings *settings, int64_t since_ns)
{
	char text[96];

	if (!settings->engine[0] && !settings->version[0])
		return;
	snprintf(text, sizeof(text), "%s%s%s", settings->engine,
		 settings->engine[0] && settings->version[0] ? " " : "", settings->version);
	intern_string(&s->engines, text);
	summary_update_settings(s, settings, since_ns);
}

static void summary_read_chunk(struct summary *s, struct feed *feed, struct feed_chunk *from)
{
	struct jfr_chunk chunk;
	struct resolve resolve;
	bool java = false;
	int err = jfr_chunk_open(&chunk, from->data, &from->header);

	if (err) {
		s->out_of_memory |= err != -EBADMSG;
		if (err == -EBADMSG)
			feed->calls->damage(feed, from, &chunk.error);
		return;
	}
	chunk.is_mapped_file = !from->in_memory;
	s->chunks++;
	s->bytes += from->header.size;
	period_add_chunk(&s->period, &s->profile, &from->header);
	resolve_open(&resolve, &s->profile, s->query, &chunk, from);
	summary_count_events(s, &resolve, &from->settings, &java);
	s->java_unnamed |= java && !strcmp(from->settings.engine, "builtin");
	if (chunk.error.what)
		feed->calls->damage(feed, from, &chunk.error);
	summary_add_engine(s, &from->settings, from->header.start_ns);
	resolve_close(&resolve);
	jfr_chunk_close(&chunk);
}

static void summary_worker_run(struct feed *feed, void *state)
{
	struct feed_chunk from;

	while (feed->calls->next(feed, &from)) {
		summary_read_chunk(state, feed, &from);
		feed->calls->done(feed, &from);
	}
}

static void summary_merge(struct summary *into, const struct summary *from)
{
	for (uint32_t i = 0; i < from->room; i++)
		if (from->types[i].events)
			summary_add_type(into, from->types[i].name, &from->types[i]);
	for (uint32_t id = 1; id <= from->profile.threads.count; id++)
		summary_add_thread(into, profile_merge_thread(&into->profile, &from->profile, id),
				   id < from->thread_capacity ? from->threads[id] : 0);
	for (uint32_t id = 1; id <= from->engines.count; id++)
		intern_string(&into->engines, intern_text(&from->engines, id));
	if (from->engines.count)
		summary_update_settings(into, &from->settings, from->settings_ns);
	for (size_t i = 0; i < METRICS; i++)
		into->metrics[i] += from->metrics[i];
	into->out_of_memory |= !sparks_merge(&into->sparks, &from->sparks);
	into->chunks += from->chunks;
	into->bytes += from->bytes;
	for (size_t i = 0; i < SUMMARY_CAUSES; i++)
		into->lost[i] += from->lost[i];
	into->has_losses |= from->has_losses;
	costs_add(&into->costs, &from->costs);
	into->java_unnamed |= from->java_unnamed;
	into->out_of_memory |= from->out_of_memory;
	profile_extend_span(&into->profile, from->profile.start_ns, from->profile.end_ns);
}

static int compare_event_counts(const void *a, const void *b)
{
	const struct event_count *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Renumber the engines in an order that does not depend on which thread read which chunk. */
static void summary_sort_engines(struct summary *s)
{
	uint32_t count = s->engines.count;
	const char **texts = calloc((size_t)count + 1, sizeof(*texts));
	struct intern sorted = INTERN_INIT;

	s->out_of_memory |= !texts;
	for (uint32_t i = 0; texts && i < count; i++)
		texts[i] = intern_text(&s->engines, i + 1);
	if (texts)
		qsort(texts, count, sizeof(*texts), compare_texts);
	for (uint32_t i = 0; texts && i < count; i++)
		s->out_of_memory |= !intern_string(&sorted, texts[i]);
	free(texts);
	intern_free(&s->engines);
	s->engines = sorted;
}

int summary_read(struct summary *summary, const struct query *query, struct feed *feed)
{
	unsigned jobs = feed_jobs(feed, query->jobs);
	struct summary *parts = calloc(jobs, sizeof(*parts));
	struct period period;
	bool want_metrics = summary->want_metrics, want_sparks = summary->want_sparks;
	struct sparks sparks = { 0 };

	*summary = (struct summary){ .profile = PROFILE_INIT };
	if (!parts || feed->calls->restart(feed, false)) {
		free(parts);
		return -ENOMEM;
	}
	if (period_resolve(&period, query, feed))
		period = (struct period){ INT64_MIN, INT64_MAX };
	want_sparks = want_sparks && feed->calls->span(feed, &sparks.start_ns, &sparks.end_ns);
	if (period.from_ns > sparks.start_ns)
		sparks.start_ns = period.from_ns;
	if (period.to_ns < sparks.end_ns)
		sparks.end_ns = period.to_ns;
	for (unsigned i = 0; i < jobs; i++)
		parts[i] = (struct summary){ .query = query,
					     .want_metrics = want_metrics,
					     .want_sparks = want_sparks,
					     .sparks = sparks,
					     .period = period,
					     .profile = PROFILE_INIT,
					     .settings_ns = INT64_MIN };
	feed_run(feed, jobs, summary_worker_run, parts, sizeof(*parts));
	*summary = parts[0];
	for (unsigned i = 1; i < jobs; i++) {
		summary_merge(summary, &parts[i]);
		summary_free(&parts[i]);
	}
	free(parts);
	if (summary->room)
		qsort(summary->types, summary->room, sizeof(*summary->types), compare_event_counts);
	summary_sort_engines(summary);
	return feed_result(feed, summary->out_of_memory);
}

void summary_free(struct summary *summary)
{
	profile_free(&summary->profile);
	intern_free(&summary->engines);
	sparks_free(&summary->sparks);
	free(summary->types);
	free(summary->threads);
	summary->threads = NULL;
	summary->types = NULL;
}
