/* top: the heaviest functions. */
#include "decoder/commands/args.h"
#include "decoder/commands/top_by_label.h"
#include "decoder/commands/top_compare.h"
#include "decoder/commands/top_time.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/frame_category.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/confidence.h"
#include "profile/aggregate/profile.h"
#include "profile/basics/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 20

/* Own functions that the table shows because of their total: their number, and their least share. */
#define CALLERS_MAX   10
#define CALLERS_SHARE 0.1

static const struct command_option own_options[] = {
	{ "-n", "N", "functions to show (20; 0: all)", ARG_COUNT, offsetof(struct args, limit) },
	{ "--cumulative", NULL, "sort by total, not by self", ARG_FLAG,
	  offsetof(struct args, cumulative) },
	{ "--native", NULL, "show native functions that scripts and Java call", ARG_FLAG,
	  offsetof(struct args, native) },
	{ "--samples", NULL, "weigh by samples, not by bytes or time", ARG_FLAG,
	  offsetof(struct args, by_count) },
	{ "--full-names", NULL, "names in full length", ARG_FLAG,
	  offsetof(struct args, full_names) },
	{ "--by", "host|process|tag|KEY|time=1s", "by host, process, tag, label, or interval",
	  ARG_STRING, offsetof(struct args, by) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const top_options[] = {
	own_options,  args_base,    args_metrics, args_live,    args_total,
	args_filters, args_waits,   args_period,  args_sources, args_trace,
	args_bucket,  args_threads, args_names,   args_reading, NULL,
};

struct top {
	const struct profile *profile;
	const struct args *args;
	enum metric metric;
	bool by_total;
	const char *unit;
	unsigned width;
	bool java_unnamed; /* see java_is_unnamed() */
	bool out_of_memory;
};

/* Print a weight, its share, and with INTERVALS its confidence interval. */
static void print_share(const struct top *t, const struct functions *functions, double part,
			bool intervals)
{
	struct interval interval = interval_of(part, functions->weight, functions->effective);
	char weight[TEXT_NUMBER], share[TEXT_NUMBER], range[TEXT_NUMBER];

	printf("%10s %7s ", text_amount(weight, part, t->unit),
	       interval_share(share, sizeof(share),
			      functions->weight > 0 ? part / functions->weight : 0, &interval));
	if (intervals)
		printf("%8s ", interval_text(range, sizeof(range), &interval));
}

static void print_row(const struct top *t, const struct functions *functions,
		      const struct function *function, bool intervals)
{
	print_share(t, functions, function->self, intervals);
	print_share(t, functions, function->total, intervals);
	putchar(' ');
	top_print_function(top_function_name(t->profile, function),
			   intern_text(&t->profile->names, function->module), t->width,
			   intervals ? 58 : 40, t->args->full_names,
			   function->category == FRAME_OWN ? STYLE_OWN : STYLE_NONE);
}

static bool top_find_functions(struct top *t, struct functions *functions, uint32_t thread)
{
	if (functions_of(functions, t->profile, t->metric, t->by_total, thread)) {
		t->out_of_memory = true;
		return false;
	}
	if (t->args->cumulative)
		functions_sort_by_total(functions, t->profile);
	return true;
}

/* Whether the interval of any displayed share is wider than one percentage point. */
static bool needs_intervals(const struct functions *functions, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++) {
		const double parts[] = { functions->list[i].self, functions->list[i].total };

		for (int k = 0; k < 2; k++) {
			struct interval interval =
				interval_of(parts[k], functions->weight, functions->effective);

			if (!interval_digits(&interval))
				return true;
		}
	}
	return false;
}

/* Print own functions with a large total that are not among the first ROWS of FUNCTIONS: these are sorted by self, and
 * a function that only calls others has none. Callers of foreign code come first. */
static void print_callers(const struct top *t, const struct functions *functions, uint32_t rows,
			  bool intervals)
{
	struct functions rest = *functions;
	uint32_t shown = 0;

	rest.list += rows;
	rest.count -= rows;
	functions_sort_by_own(&rest, t->profile);
	for (uint32_t i = 0; i < rest.count && shown < rows && shown < CALLERS_MAX; i++) {
		if (rest.list[i].category != FRAME_OWN ||
		    rest.list[i].total < CALLERS_SHARE * rest.weight)
			continue;
		if (!shown++)
			puts("\nown code that calls other functions (--cumulative sorts all by "
			     "total):");
		print_row(t, functions, &rest.list[i], intervals);
	}
}

/* Share of the samples from which on the frame is explained that stands for all methods of Java. */
#define JAVA_SHARE 0.05

static bool java_is_unnamed(const struct top *t, const struct functions *functions)
{
	for (uint32_t i = 0; i < functions->count; i++)
		if (functions->list[i].self >= JAVA_SHARE * functions->weight &&
		    !strcmp(top_function_name(t->profile, &functions->list[i]), "[Java]"))
			return true;
	return false;
}

static void print_table(struct top *t, uint32_t thread, const char *title)
{
	struct functions functions;
	char weight[TEXT_NUMBER];
	bool intervals;
	uint32_t rows;

	if (!top_find_functions(t, &functions, thread))
		return;
	if (title)
		printf("\n%s  %s (%.0f samples)\n", title,
		       text_amount(weight, functions.weight, t->unit), functions.samples);
	rows = args_limit(t->args, functions.count);
	intervals = needs_intervals(&functions, rows);
	printf("\n%s%s%s\n", terminal_style(STYLE_HEADING),
	       intervals ? "      self       %   95% CI      total       %   95% CI  function"
			 : "      self       %      total       %  function",
	       terminal_style(STYLE_NONE));
	for (uint32_t i = 0; i < rows; i++)
		print_row(t, &functions, &functions.list[i], intervals);
	if (rows < functions.count)
		printf("... and %u more (-n 0 shows all)\n", functions.count - rows);
	print_callers(t, &functions, rows, intervals);
	t->java_unnamed |= java_is_unnamed(t, &functions);
	functions_free(&functions);
}

/* Print the bounds of a share, 0 to 1. */
static void print_json_interval(const char *name, const struct functions *functions, double part)
{
	struct interval interval = interval_of(part, functions->weight, functions->effective);

	printf(",\"%s\":", name);
	interval_json(stdout, &interval);
}

static void print_json_functions(struct top *t, uint32_t thread)
{
	struct functions functions;

	if (!top_find_functions(t, &functions, thread))
		return;
	printf("\"weight\":");
	json_number(stdout, functions.weight);
	printf(",\"samples\":");
	json_number(stdout, functions.samples);
	putchar(',');
	interval_json_effective(stdout, "effective_samples", functions.effective);
	printf(",\"functions\":[");
	for (uint32_t i = 0; i < args_limit(t->args, functions.count); i++) {
		const struct function *function = &functions.list[i];

		printf("%s{\"name\":", i ? "," : "");
		json_string(stdout, top_function_name(t->profile, function));
		printf(",\"module\":");
		json_string(stdout, intern_text(&t->profile->names, function->module));
		printf(",\"category\":\"%s\"", frame_category_names[function->category]);
		printf(",\"self\":");
		json_number(stdout, function->self);
		printf(",\"total\":");
		json_number(stdout, function->total);
		printf(",\"own\":");
		json_number(stdout, function->own);
		print_json_interval("self_interval", &functions, function->self);
		print_json_interval("total_interval", &functions, function->total);
		putchar('}');
	}
	putchar(']');
	functions_free(&functions);
}

struct thread_weight {
	uint32_t thread;
	double weight;
};

static int compare_thread_weight(const void *a, const void *b, void *arg)
{
	const struct thread_weight *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return profile_compare_threads(arg, x->thread, y->thread);
}

/* Returns threads with any weight, heaviest first. */
static struct thread_weight *threads_by_weight(const struct top *t, uint32_t *count)
{
	const struct profile *p = t->profile;
	struct thread_weight *list = calloc((size_t)p->threads.count + 1, sizeof(*list));

	*count = 0;
	if (!list)
		return NULL;
	for (uint32_t id = 0; id <= p->threads.count; id++)
		list[id].thread = id;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->samples[i].metric == t->metric)
			list[p->samples[i].thread].weight +=
				t->by_total ? p->samples[i].total : p->samples[i].count;
	qsort_r(list, (size_t)p->threads.count + 1, sizeof(*list), compare_thread_weight,
		(void *)p);
	while (*count <= p->threads.count && list[*count].weight > 0)
		++*count;
	return list;
}

/* The share of METRIC's samples that the overhead budget kept. */
static double kept_share(const struct profile *p, enum metric metric)
{
	const struct costs *costs = &p->losses.costs;

	switch (metric) {
	case METRIC_CPU:
		return costs_kept(costs, COSTS_CPU);
	case METRIC_WALL:
		return costs_kept(costs, COSTS_WALL);
	case METRIC_MALLOC:
		return costs_kept(costs, COSTS_MEMORY);
	default:
		return 1;
	}
}

/* With several processes, such as those of a pipeline, name the heaviest. */
static void print_processes(struct top *t)
{
	struct top_output output = { .metric = t->metric, .by_total = t->by_total };

	if (top_print_processes(&output, t->profile))
		t->out_of_memory = true;
}

static void top_print_text(struct top *t, const struct thread_weight *threads, uint32_t count)
{
	const struct profile *p = t->profile;
	char number[TEXT_NUMBER], name[256];
	double samples = 0, total = 0;

	for (uint32_t i = 0; i < p->count; i++)
		if (p->samples[i].metric == t->metric) {
			samples += p->samples[i].count;
			total += p->samples[i].total;
		}
	printf("%s: %.0f %s", metric_texts[t->metric].name, samples,
	       metric_texts[t->metric].count_unit);
	if (total > 0)
		printf(", %s", text_amount(number, total, metric_texts[t->metric].total_unit));
	if (p->end_ns > p->start_ns)
		printf(", in %s", text_duration(number, (double)(p->end_ns - p->start_ns)));
	printf(", %u thread%s", count, count == 1 ? "" : "s");
	if (kept_share(p, t->metric) < COSTS_KEPT_MIN)
		printf(", %.*f%% of the samples kept by the budget", kept_share(p, t->metric) < 0.1,
		       100 * kept_share(p, t->metric));
	putchar('\n');
	print_processes(t);
	if (!t->args->query.threads) {
		print_table(t, 0, NULL);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		profile_thread_name(p, threads[i].thread, name, sizeof(name));
		print_table(t, threads[i].thread, name);
	}
}

static void top_print_json(struct top *t, const struct thread_weight *threads, uint32_t count)
{
	char name[256];

	printf("{\"metric\":\"%s\",\"unit\":\"%s\",", metric_texts[t->metric].name, t->unit);
	print_json_functions(t, 0);
	for (uint32_t i = 0; i < count && t->args->query.threads; i++) {
		profile_thread_name(t->profile, threads[i].thread, name, sizeof(name));
		printf("%s{\"name\":", i ? "," : ",\"threads\":[");
		json_string(stdout, name);
		putchar(',');
		print_json_functions(t, threads[i].thread);
		printf("}%s", i + 1 == count ? "]" : "");
	}
	printf(",\"losses\":");
	losses_json(stdout, &t->profile->losses);
	printf("}\n");
}

static int print_top(struct top *t)
{
	uint32_t count;
	struct thread_weight *threads = threads_by_weight(t, &count);

	if (threads && t->args->json)
		top_print_json(t, threads, count);
	else if (threads)
		top_print_text(t, threads, count);
	t->out_of_memory |= !threads;
	if (t->out_of_memory)
		message_print("out of memory");
	free(threads);
	return t->out_of_memory ? COMMAND_FAILED : COMMAND_OK;
}

/* Print a comparison. Returns a status. */
static int top_print_compared(const struct top *t, const struct profile *base)
{
	struct top_output output = { .args = t->args,
				     .metric = t->metric,
				     .by_total = t->by_total,
				     .unit = t->unit,
				     .losses = &t->profile->losses,
				     .base_losses = &base->losses,
				     .width = t->width };
	int err = t->args->by ? top_by_label(&output, t->profile)
			      : top_compare_base(&output, t->profile, base);

	if (err)
		message_print("out of memory");
	return err ? COMMAND_FAILED : COMMAND_OK;
}

/* Print a row for each interval. Returns a status. */
static int top_print_times(const struct top *t, uint64_t interval_ns)
{
	struct top_time times = { .args = t->args,
				  .metric = t->metric,
				  .by_total = t->by_total,
				  .unit = t->unit,
				  .width = t->width,
				  .interval_ns = interval_ns };
	int err = top_print_by_time(&times, t->profile);

	if (err)
		message_print(err == -ERANGE ? "top: too many intervals; use a longer one: --by "
					       "time=1m"
					     : "out of memory");
	return err ? COMMAND_FAILED : COMMAND_OK;
}

/* Check for switches that exclude each other. */
static int args_check_conflicts(const struct args *args, bool by_time, uint64_t interval_ns)
{
	if (by_time && !interval_ns)
		message_print("top: --by %s: takes time=INTERVAL in whole milliseconds", args->by);
	else if (by_time && args->metric == METRIC_LIVE)
		message_print("top: --by time and --live exclude each other");
	else if (args->by && args->base_count)
		message_print("top: --by and --base exclude each other");
	else if (args->query.threads && (args->by || args->base_count))
		message_print("top: --threads excludes --by and --base");
	else
		return COMMAND_OK;
	return COMMAND_USAGE;
}

int cmd_top(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct profile profile = PROFILE_INIT, base = PROFILE_INIT;
	struct top top = { .profile = &profile, .args = &args, .width = text_terminal_width() };
	uint64_t interval_ns = 0;
	bool by_time;
	int status;

	args.limit = UINT_MAX;
	status = args_parse(&args, argc, argv, top_options);
	by_time = top_time_parse(args.by, &interval_ns);
	if (args.limit == UINT_MAX)
		args.limit = by_time ? 0 : DEFAULT_LIMIT;
	if (status == COMMAND_OK)
		status = args_check_conflicts(&args, by_time, interval_ns);
	args.query.contexts = args.by && !by_time;
	args.query.times = by_time;
	args.query.lock_places = true; /* a class is no function */
	/* A filter by function may be for a native one. */
	if (args.query.frames == SHOW_FOLDED && !args.native && !args.query.include.set &&
	    !args.query.exclude.set)
		args.query.frames = SHOW_SCRIPT;
	if (status == COMMAND_OK) {
		status = command_read_profile(&profile, &args, metric_mask(args.metric));
		top.metric = profile_choose_metric(&profile, args.metric);
		if (args.base_count)
			status |= command_read_base(&base, &args, 1u << top.metric);
		top.by_total = args.total ||
			       (!args.by_count && (profile_needs_totals(&profile, top.metric) ||
						   profile_needs_totals(&base, top.metric)));
		top.unit = top.by_total ? metric_texts[top.metric].total_unit
					: metric_texts[top.metric].count_unit;
		terminal_start_pager();
		if (!profile.chunks && !base.chunks && !(args.json && status == COMMAND_OK))
			;
		else if (by_time)
			status |= top_print_times(&top, interval_ns);
		else if (args.by || args.base_count)
			status |= top_print_compared(&top, &base);
		else if (print_top(&top))
			status = COMMAND_FAILED;
		if (profile.frames_folded && !args.json)
			puts("\nnative functions count for the functions that call them; --native "
			     "shows them");
		if (top.java_unnamed)
			puts("\n[Java] is all methods of Java: install the package "
			     "asprof-agent-java "
			     "(`make java-package`), or set ASPROF_AGENT_LIB to the library that "
			     "`scripts/setup async-profiler` downloads");
		if (status == COMMAND_OK)
			empty_result_explain_profile(&profile, &args);
	}
	profile_free(&profile);
	profile_free(&base);
	args_free(&args);
	return status;
}
