/* summary: contents of recordings. */
#include "decoder/commands/commands.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/top_table.h"
#include "decoder/input/file_feed.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/summary.h"
#include "profile/basics/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_LIMIT 20

static const struct command_option own_options[] = {
	{ "-n", "N", "threads to show, the busiest first (20; 0: all)", ARG_COUNT,
	  offsetof(struct args, limit) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const summary_options[] = {
	own_options, args_thread, args_period, args_sources, args_bucket, args_reading, NULL,
};

/* *TITLE precedes the first interval of the line. */
static void print_interval(const char **title, const char *name, int64_t value, const char *unit)
{
	char number[TEXT_NUMBER];

	if (value <= 0)
		return;
	printf("%s%s %s", *title, name, text_amount(number, (double)value, unit));
	*title = ", ";
}

static void print_intervals(const struct settings *settings)
{
	const char *const first = "Sampled   ", *title = first;

	print_interval(&title, "cpu", settings->cpu_interval_ns, "nanoseconds");
	print_interval(&title, "wall", settings->wall_interval_ns, "nanoseconds");
	print_interval(&title, "native memory", settings->mem_interval, "bytes");
	if (title != first)
		putchar('\n');
}

static void print_losses(const struct summary *s)
{
	const char *title = "Lost";

	for (size_t i = 0; i < SUMMARY_CAUSES; i++)
		if (s->lost[i]) {
			printf("%-9s %" PRIu64 " %s\n", title, s->lost[i], summary_causes[i].text);
			title = "";
		}
	if (*title)
		printf("%-9s %s\n", title,
		       s->has_losses ? "nothing" : "not reported by this engine");
}

static void print_costs(const struct costs *costs)
{
	double program = costs->program_ns;
	char number[TEXT_NUMBER];

	if (!costs->is_known)
		return;
	printf("Cost      %.2f%% of the program's CPU time (%s)\n",
	       top_percent_of(costs_sum(costs), program), text_duration(number, program));
	for (unsigned i = 0; i < COSTS_KINDS; i++) {
		double samples = costs->kinds[i].samples, cpu_ns = costs->kinds[i].cpu_ns;

		if (!(cpu_ns > 0))
			continue;
		printf("%14.2f%%  %s", top_percent_of(cpu_ns, program), costs_names[i]);
		if (samples > 0)
			printf(", %.1f us for a sample", cpu_ns / samples / 1e3);
		if (costs_kept(costs, i) < 0.9995)
			printf(", the budget kept %.1f%%", 100 * costs_kept(costs, i));
		puts(i == COSTS_INTERPRETERS ? " (part of these)" : "");
	}
}

static void print_costs_json(const struct costs *costs)
{
	printf(",\"cost\":{\"program_cpu_ns\":%.0f,\"elapsed_ns\":%.0f", costs->program_ns,
	       costs->elapsed_ns);
	for (unsigned i = 0; i < COSTS_KINDS; i++)
		printf(",\"%s\":{\"samples\":%.0f,\"cpu_ns\":%.0f,\"kept_share\":%.6f}",
		       costs_names[i], costs->kinds[i].samples, costs->kinds[i].cpu_ns,
		       costs_kept(costs, i));
	printf("}");
}

static uint64_t thread_events(const struct summary *s, uint32_t thread)
{
	return thread < s->thread_capacity ? s->threads[thread] : 0;
}

/* Compare by name and TID, as thread numbers depend on the order of reading. */
static int compare_thread(const void *a, const void *b, void *arg)
{
	const struct summary *s = arg;

	return profile_compare_threads(&s->profile, *(const uint32_t *)a, *(const uint32_t *)b);
}

static int compare_events(const void *a, const void *b, void *arg)
{
	uint64_t x = thread_events(arg, *(const uint32_t *)a),
		 y = thread_events(arg, *(const uint32_t *)b);

	return x != y ? (x < y ? 1 : -1) : compare_thread(a, b, arg);
}

/* Returns the numbers of all threads, the busiest first if only SOME are shown. */
static uint32_t *sorted_threads(struct summary *s, bool some)
{
	uint32_t count = s->profile.threads.count;
	uint32_t *ids = calloc((size_t)count + 1, sizeof(*ids));

	for (uint32_t i = 0; ids && i < count; i++)
		ids[i] = i + 1;
	if (ids)
		qsort_r(ids, count, sizeof(*ids), some ? compare_events : compare_thread, s);
	return ids;
}

/* Count the threads without a name: threads of async-profiler's that ended before their names were read. */
static uint32_t count_unnamed(const struct summary *s)
{
	uint32_t unnamed = 0;
	char name[256];

	for (uint32_t id = 1; id <= s->profile.threads.count; id++) {
		profile_thread_name(&s->profile, id, name, sizeof(name));
		unnamed += !strncmp(name, "[tid=", strlen("[tid="));
	}
	return unnamed;
}

static int compare_sparks(const void *a, const void *b, void *arg)
{
	const struct sparks *sparks = arg;
	const struct spark *x = &sparks->list[*(const uint32_t *)a],
			   *y = &sparks->list[*(const uint32_t *)b];

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return strcmp(intern_text(&sparks->processes, *(const uint32_t *)a),
		      intern_text(&sparks->processes, *(const uint32_t *)b));
}

/* Print CPU time over time, a line for each process, the busiest first, with one scale. */
static void print_sparks(const struct summary *s, const struct args *args)
{
	uint32_t count = s->sparks.processes.count, shown = args_limit(args, count);
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
	char text[SPARK_TEXT], start[TEXT_NUMBER], end[TEXT_NUMBER];
	uint64_t most = 0;

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i + 1;
	if (order && count) {
		qsort_r(order, count, sizeof(*order), compare_sparks, (void *)&s->sparks);
		text_time(start, s->sparks.start_ns);
		text_time(end, s->sparks.end_ns);
		printf("\nCPU time, from %s to %s\n", start, end);
	}
	for (uint32_t i = 0; order && i < shown; i++)
		for (unsigned c = 0; c < SPARK_COLUMNS; c++)
			if (s->sparks.list[order[i]].counts[c] > most)
				most = s->sparks.list[order[i]].counts[c];
	for (uint32_t i = 0; order && i < shown; i++) {
		spark_format(text, s->sparks.list[order[i]].counts, most);
		printf("  %s  %s\n", text, intern_text(&s->sparks.processes, order[i]));
	}
	free(order);
}

static void summary_print_text(const struct summary *s, const struct args *args,
			       const uint32_t *threads)
{
	const struct profile *p = &s->profile;
	uint32_t unnamed = count_unnamed(s);
	char number[TEXT_NUMBER];
	char name[256];

	printf("Start     %s\n", text_time(number, p->start_ns));
	printf("Span      %s, ", text_duration(number, (double)(p->end_ns - p->start_ns)));
	printf("%" PRIu64 " chunk%s, %s\n", s->chunks, s->chunks == 1 ? "" : "s",
	       text_bytes(number, (double)s->bytes));
	for (uint32_t id = 1; id <= s->engines.count; id++)
		printf("Engine    %s\n", intern_text(&s->engines, id));
	print_intervals(&s->settings);
	print_losses(s);
	print_costs(&s->costs);
	if (unnamed)
		printf("Unnamed   %u of %u threads: they ended before the engine read their "
		       "names\n",
		       unnamed, p->threads.count);
	if (s->java_unnamed)
		puts("Java      its methods are shown as one frame, [Java]: install the package "
		     "asprof-agent-java,\n          or set ASPROF_AGENT_LIB to async-profiler's "
		     "library");
	if (s->want_sparks)
		print_sparks(s, args);
	printf("\n    events       bytes  type\n");
	for (uint32_t i = 0; i < s->room && s->types[i].events; i++)
		printf("%10" PRIu64 "  %10s  %s\n", s->types[i].events,
		       text_bytes(number, (double)s->types[i].bytes), s->types[i].name);
	printf("\nThreads   %u\n", p->threads.count);
	for (uint32_t i = 0; i < args_limit(args, p->threads.count); i++) {
		profile_thread_name(p, threads[i], name, sizeof(name));
		printf("%10" PRIu64 "  %s\n", thread_events(s, threads[i]), name);
	}
	if (args->limit && p->threads.count > args->limit)
		printf("... and %u more (-n 0 shows all)\n", p->threads.count - args->limit);
}

static void print_span_json(const struct profile *p)
{
	char start[TEXT_NUMBER];

	if (p->start_ns > p->end_ns) {
		printf("{\"start\":null,\"start_ms\":null,\"end_ms\":null,\"seconds\":0");
		return;
	}
	printf("{\"start\":\"%s\",\"start_ms\":%" PRId64 ",\"end_ms\":%" PRId64 ",\"seconds\":%.3f",
	       text_time(start, p->start_ns), p->start_ns / 1000000, p->end_ns / 1000000,
	       (double)(p->end_ns - p->start_ns) / 1e9);
}

static void summary_print_json(const struct summary *s, const uint32_t *threads)
{
	const struct profile *p = &s->profile;
	char name[256];

	print_span_json(p);
	printf(",\"chunks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"engines\":[", s->chunks, s->bytes);
	for (uint32_t id = 1; id <= s->engines.count; id++) {
		printf("%s", id > 1 ? "," : "");
		json_string(stdout, intern_text(&s->engines, id));
	}
	printf("],\"java_unnamed\":%s", s->java_unnamed ? "true" : "false");
	printf(",\"cpu_interval_ns\":%" PRId64 ",\"wall_interval_ns\":%" PRId64
	       ",\"native_mem_bytes\":%" PRId64 ",\"lost\":{",
	       s->settings.cpu_interval_ns, s->settings.wall_interval_ns, s->settings.mem_interval);
	for (size_t i = 0; s->has_losses && i < SUMMARY_CAUSES; i++)
		printf("%s\"%s\":%" PRIu64, i ? "," : "", summary_causes[i].field, s->lost[i]);
	printf("}");
	if (s->costs.is_known)
		print_costs_json(&s->costs);
	printf(",\"events\":{");
	for (uint32_t i = 0; i < s->room && s->types[i].events; i++) {
		printf("%s", i ? "," : "");
		json_string(stdout, s->types[i].name);
		printf(":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", s->types[i].events,
		       s->types[i].bytes);
	}
	printf("},\"threads_unnamed\":%u,\"threads\":[", count_unnamed(s));
	for (uint32_t i = 0; i < p->threads.count; i++) {
		profile_thread_name(p, threads[i], name, sizeof(name));
		printf("%s", i ? "," : "");
		json_string(stdout, name);
	}
	printf("]}\n");
}

static int print_summary(struct summary *summary, const struct args *args)
{
	uint32_t *threads = sorted_threads(summary, !args->json);

	if (!threads)
		return -ENOMEM;
	if (args->json)
		summary_print_json(summary, threads);
	else
		summary_print_text(summary, args, threads);
	free(threads);
	return 0;
}

static int summary_print(const struct args *args, struct feed *feed)
{
	struct summary summary = { .want_sparks = !args->json && isatty(STDOUT_FILENO) };
	int err = summary_read(&summary, &args->query, feed);

	terminal_start_pager();
	if ((summary.profile.start_ns <= summary.profile.end_ns || (args->json && !err)) &&
	    print_summary(&summary, args))
		err = -ENOMEM;
	if (!err && (!summary.room || !summary.types[0].events))
		empty_result_explain(args, 0, "nothing was recorded");
	summary_free(&summary);
	return err;
}

int cmd_summary(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct feed *feed = NULL;
	int status, err = 0;

	args.limit = DEFAULT_LIMIT;
	status = args_parse(&args, argc, argv, summary_options);

	if (status == COMMAND_OK)
		err = file_feed_open(&feed, &args.selection, args.files, args.file_count);
	if (feed) {
		err = summary_print(&args, feed);
		file_feed_close(feed);
	}
	if (err)
		status = command_status_from_error(err);
	args_free(&args);
	return status;
}
