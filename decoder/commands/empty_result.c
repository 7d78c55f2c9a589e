/* Explanation of an empty result. It reads the files again, without filters. */
#include "decoder/commands/empty_result.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/summary.h"
#include "profile/basics/text.h"

#define LISTED 8

/* List for a message: "a, b, c and 4 more". */
struct list {
	struct buf text;
	unsigned count;
};

static void list_add(struct list *list, const char *item)
{
	if (list->count++ < LISTED)
		buf_printf(&list->text, "%s%s", list->count > 1 ? ", " : "", item);
}

static const char *list_text(struct list *list)
{
	if (list->count > LISTED)
		buf_printf(&list->text, " and %u more", list->count - LISTED);
	return list->count && buf_string(&list->text) ? buf_string(&list->text) : "none";
}

#define LIST_INIT                      \
	{                              \
		.text = BUF_INIT(4000) \
	}

/* No recording has the required labels; nor has a sample, if samples were checked. */
static void print_unmatched_labels(const struct args *args, const struct feed *feed)
{
	struct list list = LIST_INIT;
	const char *labels;

	for (unsigned i = 0; (labels = file_feed_excluded_labels(feed, i)); i++)
		list_add(&list, *labels ? labels : "(unknown)");
	message_print("%s: nothing left: no recording matches%s%s%s%s%s%s%s; they are of: %s",
		      args->command, args->selection.process.set ? " --process" : "",
		      args->selection.host.set ? " --host" : "",
		      args->selection.tag.set ? " --tag" : "",
		      args->selection.label_count ? " --label" : "",
		      args->selection.uploads.group.set ? " --group" : "",
		      args->selection.uploads.machine.set ? " --machine" : "",
		      args->query.label_count ? ", and no sample" : "", list_text(&list));
	buf_free(&list.text);
}

static bool print_outside_period(const struct args *args, const struct profile *p,
				 struct feed *feed)
{
	char start[TEXT_NUMBER], end[TEXT_NUMBER], span[TEXT_NUMBER];
	struct period period;

	if ((!args->query.from.kind && !args->query.to.kind) ||
	    period_resolve(&period, &args->query, feed) ||
	    (period.from_ns <= p->end_ns && period.to_ns >= p->start_ns &&
	     period.from_ns <= period.to_ns))
		return false;
	message_print("%s: nothing left: nothing was recorded %s; there is %s, from %s to %s",
		      args->command,
		      args->at.kind ? "in the period of --at" : "between --from and --to",
		      text_duration(span, (double)(p->end_ns - p->start_ns)),
		      text_time(start, p->start_ns), text_time(end, p->end_ns));
	return true;
}

/* Settings that record a metric. Only async-profiler records locks and Java objects. */
static const struct {
	const char *what, *how;
} recorded_by[METRICS] = {
	[METRIC_CPU] = { "CPU time", "run --cpu 10ms, or ASPROF_AGENT_CPU_INTERVAL=10ms" },
	[METRIC_WALL] = { "wall-clock time",
			  "run --wall 100ms, or ASPROF_AGENT_WALL_INTERVAL=100ms" },
	[METRIC_MALLOC] = { "native memory", "run --mem 512k, or ASPROF_AGENT_NATIVE_MEM=512k" },
	[METRIC_LIVE] = { "native memory", "run --mem 512k, or ASPROF_AGENT_NATIVE_MEM=512k" },
	[METRIC_OBJECT] = { "Java objects", "ASPROF_AGENT_ENGINE_OPTIONS=alloc=512k, with "
					    "async-profiler's library" },
	[METRIC_LIVE_OBJECT] = { "living Java objects", "ASPROF_AGENT_ENGINE_OPTIONS=alloc=512k,"
							"live, with async-profiler's library" },
	[METRIC_LOCK] = { "locks", "run --lock 10ms, or ASPROF_AGENT_LOCK=10ms; with "
				   "async-profiler for Java's locks only" },
};

/* Why a metric has no samples although the recordings were made with an interval for it. */
static const struct {
	size_t interval; /* offset of it in the settings */
	const char *unit, *why;
} requested_by[METRICS] = {
	[METRIC_CPU] = { offsetof(struct settings, cpu_interval_ns), "nanoseconds",
			 "the program used less" },
	[METRIC_WALL] = { offsetof(struct settings, wall_interval_ns), "nanoseconds",
			  "the program ran for less" },
	[METRIC_MALLOC] = { offsetof(struct settings, mem_interval), "bytes",
			    "the program allocated less, or not by malloc" },
	[METRIC_LIVE] = { offsetof(struct settings, mem_interval), "bytes",
			  "the program allocated less, or not by malloc" },
};

static void print_metric_reason(const struct args *args, const struct settings *settings,
				enum metric wanted, const char *there)
{
	const char *unit = requested_by[wanted].unit;
	char interval[TEXT_NUMBER];
	int64_t value = 0;

	if (unit)
		memcpy(&value, (const char *)settings + requested_by[wanted].interval,
		       sizeof(value));
	if (value > 0)
		message_print("%s: no samples of %s were recorded at an interval of %s: %s; a "
			      "smaller interval records more; there is: %s",
			      args->command, recorded_by[wanted].what,
			      text_amount(interval, (double)value, unit), requested_by[wanted].why,
			      there);
	else
		message_print("%s: no samples of %s were recorded; that needs %s; there is: %s",
			      args->command, recorded_by[wanted].what, recorded_by[wanted].how,
			      there);
}

static bool print_missing_metric(const struct args *args, const struct summary *s, uint32_t metrics)
{
	enum metric wanted = METRIC_ANY;
	struct list there = LIST_INIT;
	char item[64];

	if (metrics & 1u << METRIC_LIVE)
		metrics |= 1u << METRIC_MALLOC;
	for (unsigned m = METRIC_CPU; m < METRICS; m++)
		if (metrics & 1u << m && s->metrics[m])
			return false;
	for (unsigned m = METRIC_CPU; m < METRICS; m++) {
		if (metrics & 1u << m && !wanted)
			wanted = (enum metric)m;
		if (!s->metrics[m])
			continue;
		snprintf(item, sizeof(item), "%s (%" PRIu64 ")", metric_texts[m].name,
			 s->metrics[m]);
		list_add(&there, item);
	}
	if (wanted && metrics == metric_mask(METRIC_ANY))
		message_print("%s: no samples were recorded", args->command);
	else if (wanted)
		print_metric_reason(args, &s->settings, wanted, list_text(&there));
	buf_free(&there.text);
	return wanted;
}

static bool print_missing_thread(const struct args *args, const struct summary *s)
{
	struct filter filter = { .query = &args->query, .profile = &s->profile };
	struct list there = LIST_INIT;
	bool found = false;
	char name[256];

	if (!args->query.thread.set)
		return false;
	for (uint32_t id = 1; id <= s->profile.threads.count && !found; id++) {
		found = filter_thread(&filter, id);
		profile_thread_name(&s->profile, id, name, sizeof(name));
		list_add(&there, name);
	}
	filter_free(&filter);
	if (!found)
		message_print("%s: nothing left: no thread matches --thread; there are: %s",
			      args->command, list_text(&there));
	buf_free(&there.text);
	return !found;
}

static void print_filters(const struct args *args, const char *default_text)
{
	struct list set = LIST_INIT;

	if (args->query.thread.set)
		list_add(&set, "--thread");
	if (args->query.from.kind)
		list_add(&set, args->at.kind ? "--at" : "--from");
	if (args->query.to.kind)
		list_add(&set, "--to");
	if (args->query.include.set)
		list_add(&set, "--include");
	if (args->query.exclude.set)
		list_add(&set, "--exclude");
	if (args->query.states)
		list_add(&set, "--state");
	if (args->query.causes)
		list_add(&set, "--cause");
	if (args->query.label_count)
		list_add(&set, "--label");
	if (args->query.trace)
		list_add(&set, "--trace");
	if (set.count)
		message_print("%s: nothing left: no sample passes %s", args->command,
			      list_text(&set));
	else
		message_print("%s: %s", args->command, default_text);
	buf_free(&set.text);
}

/* Explain an empty result by SUMMARY. Returns whether nothing of METRICS was recorded. */
static bool explain_summary(const struct args *args, const struct summary *s, struct feed *feed,
			    uint32_t metrics, const char *default_text)
{
	if (!s->chunks && file_feed_excluded_labels(feed, 0))
		print_unmatched_labels(args, feed);
	if (!s->chunks || print_outside_period(args, &s->profile, feed))
		return false;
	if (print_missing_metric(args, s, metrics))
		return true;
	if (!print_missing_thread(args, s))
		print_filters(args, default_text);
	return false;
}

/* Check whether labels are the only filter, and no recording has them. */
static bool print_missing_label(const struct args *args)
{
	struct summary summary = { 0 };
	struct selection selection = args->selection;
	struct query all = QUERY_INIT;
	struct feed *feed;
	bool none = false;

	if (!args->query.label_count || args->query.trace || args->query.thread.set ||
	    args->query.include.set || args->query.exclude.set || args->query.from.kind ||
	    args->query.to.kind)
		return false;
	selection.in_samples = false;
	if (file_feed_open(&feed, &selection, args->files, args->file_count))
		return false;
	if (!summary_read(&summary, &all, feed))
		none = !summary.chunks && file_feed_excluded_labels(feed, 0);
	if (none)
		print_unmatched_labels(args, feed);
	summary_free(&summary);
	file_feed_close(feed);
	return none;
}

bool empty_result_explain(const struct args *args, uint32_t metrics, const char *default_text)
{
	struct summary summary = { .want_metrics = true };
	struct query all = args->query;
	struct feed *feed;
	bool none = false;

	all.thread.set = all.include.set = all.exclude.set = false;
	all.from.kind = all.to.kind = MOMENT_NONE;
	all.length_ns = 0;
	all.lookup.frames = NULL;
	all.label_count = 0;
	all.trace = NULL;
	fflush(stdout);
	if (print_missing_label(args))
		return false;
	if (file_feed_open(&feed, &args->selection, args->files, args->file_count))
		return false;
	if (!summary_read(&summary, &all, feed))
		none = explain_summary(args, &summary, feed, metrics, default_text);
	summary_free(&summary);
	file_feed_close(feed);
	return none;
}

void empty_result_explain_profile(const struct profile *p, const struct args *args)
{
	enum metric metric = profile_choose_metric(p, args->metric);
	bool any = false, total = false;

	for (uint32_t i = 0; i < p->count; i++) {
		any |= p->samples[i].metric == metric;
		total |= p->samples[i].metric == metric && p->samples[i].total > 0;
	}
	if (any && !total && args->total)
		message_print(
			"%s: no --total: the recordings do not say how long a sample stands for",
			args->command);
	else if (!any)
		empty_result_explain(args, metric_mask(args->metric),
				     metric == METRIC_LIVE ? "all allocations were freed"
							   : "nothing was recorded");
}
