/* flamegraph and heatmap: self-contained HTML pages. */
#include "decoder/commands/args.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/output/message.h"
#include "decoder/output/output.h"
#include "profile/aggregate/profile.h"
#include "profile/flamegraph/flamegraph_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_ROW                                                                           \
	{                                                                                 \
		"-o", "OUT", "the file to write, instead of standard output", ARG_STRING, \
			offsetof(struct args, output)                                     \
	}
#define TITLE_ROW                                                                               \
	{                                                                                       \
		"--title", "TEXT", "the page's title", ARG_STRING, offsetof(struct args, title) \
	}
#define MIN_ROW                                                                                \
	{                                                                                      \
		"--min", "SHARE", "merge frames below this share of the whole (0)", ARG_RATIO, \
			offsetof(struct args, min_share)                                       \
	}

#define BLOCKED_BY_ROW                                                                      \
	{                                                                                   \
		"--blocked-by", NULL, "append the stacks of the owners of locks", ARG_FLAG, \
			offsetof(struct args, blocked_by)                                   \
	}

static const struct command_option graph_options[] = {
	OUT_ROW,
	{ "--reverse", NULL, "start with the innermost frames", ARG_FLAG,
	  offsetof(struct args, reverse) },
	TITLE_ROW,
	MIN_ROW,
	BLOCKED_BY_ROW,
	{ 0 },
};

static const struct command_option heat_options[] = {
	OUT_ROW,
	{ "--row", "TIME", "duration of a row (20ms)", ARG_DURATION,
	  offsetof(struct args, row_ns) },
	{ "--column", "TIME", "duration of a column (1s)", ARG_DURATION,
	  offsetof(struct args, column_ns) },
	TITLE_ROW,
	MIN_ROW,
	BLOCKED_BY_ROW,
	{ 0 },
};

const struct command_option *const flamegraph_options[] = {
	graph_options, args_base,    args_metrics, args_live,    args_total,
	args_filters,  args_waits,   args_period,  args_sources, args_trace,
	args_bucket,   args_threads, args_names,   args_reading, NULL,
};

const struct command_option *const heatmap_options[] = {
	heat_options, args_metrics, args_live,    args_total, args_filters,
	args_waits,   args_period,  args_sources, args_trace, args_bucket,
	args_renames, args_names,   args_reading, NULL,
};

struct page {
	struct args *args;
	struct profile profile, base;
	enum metric metric;
	bool by_total, is_heatmap;
};

/* "cpu: new.jfr and others, compared with old.jfr" */
static void page_format_title(const struct page *page, char *title, size_t size)
{
	const struct args *args = page->args;
	bool has_base = !page->is_heatmap && args->base_count;

	snprintf(title, size, "%s: %s%s%s%s%s", metric_texts[page->metric].name, args->files[0],
		 args->file_count > 1 ? " and others" : "", has_base ? ", compared with " : "",
		 has_base ? args->base[0] : "",
		 has_base && args->base_count > 1 ? " and others" : "");
}

static int page_print(struct page *page)
{
	const struct args *args = page->args;
	struct flamegraph graph = { .profile = &page->profile,
				    .metric = page->metric,
				    .by_total = page->by_total,
				    .threads = args->query.threads,
				    .reverse = args->reverse,
				    .base = args->base_count ? &page->base : NULL,
				    .min_share = args->min_share,
				    .title = args->title };
	struct output output;
	char title[512];
	int err;

	page_format_title(page, title, sizeof(title));
	if (!graph.title)
		graph.title = title;
	if (page->is_heatmap) {
		graph.row_ms = (uint32_t)(args->row_ns / 1000000);
		graph.column_ms = (uint32_t)(args->column_ns / 1000000);
	}
	if (output_open(&output, args->output))
		return COMMAND_FAILED;
	err = flamegraph_write(output.file, &graph);
	if (err)
		message_print("out of memory");
	return output_close(&output) || err ? COMMAND_FAILED : COMMAND_OK;
}

/* Read the first metric that the files have. Samples with times need much memory, so each metric is
 * read alone. */
static int page_read_any(struct page *page)
{
	static const enum metric order[] = { METRIC_CPU,    METRIC_WALL,        METRIC_MALLOC,
					     METRIC_OBJECT, METRIC_LIVE_OBJECT, METRIC_LOCK };
	int status = COMMAND_OK;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && !page->profile.count; i++) {
		profile_free(&page->profile);
		status = command_read_profile(&page->profile, page->args, 1u << order[i]);
		if (status != COMMAND_OK)
			break;
	}
	return status;
}

static int page_read(struct page *page)
{
	struct args *args = page->args;
	int status;

	args->query.contexts = true; /* the page filters by labels */
	if (!args->query.waits)
		args->query.waits = WAIT_PARTS_KIND; /* and colours by state */
	args->query.wait_guesses = true;
	args->query.times = page->is_heatmap;
	if (page->is_heatmap && args->metric == METRIC_ANY)
		status = page_read_any(page);
	else
		status = command_read_profile(&page->profile, args, metric_mask(args->metric));
	page->metric = profile_choose_metric(&page->profile, args->metric);
	if (!page->is_heatmap && args->base_count)
		status |= command_read_base(&page->base, args, 1u << page->metric);
	page->by_total = args->total || profile_needs_totals(&page->profile, page->metric) ||
			 profile_needs_totals(&page->base, page->metric);
	return status;
}

/* A row is at least one millisecond, and a column has at most 1,000 rows. */
static int page_check_args(const struct page *page)
{
	const struct args *args = page->args;

	if (!args->output && isatty(STDOUT_FILENO)) {
		message_print("%s: standard output is a terminal; write the page to a file: -o "
			      "%s.html",
			      args->command, page->is_heatmap ? "heat" : "flame");
		return COMMAND_USAGE;
	}
	if (page->is_heatmap &&
	    (args->row_ns < 1000000 || args->row_ns % 1000000 || args->row_ns > args->column_ns ||
	     args->column_ns % args->row_ns || args->column_ns / args->row_ns > 1000 ||
	     args->column_ns > INT64_C(86400) * 1000000000)) {
		message_print("%s: --row takes whole milliseconds, and --column 1 to 1000 rows, at "
			      "most 24h",
			      args->command);
		return COMMAND_USAGE;
	}
	return COMMAND_OK;
}

static int page_run(int argc, char **argv, bool is_heatmap,
		    const struct command_option *const *options)
{
	struct args args = ARGS_INIT(argv[0]);
	struct page page = { .args = &args,
			     .profile = PROFILE_INIT,
			     .base = PROFILE_INIT,
			     .is_heatmap = is_heatmap };
	int status;

	args.row_ns = 20 * 1000000;
	args.column_ns = 1000 * 1000000;
	status = args_parse(&args, argc, argv, options);
	if (status == COMMAND_OK)
		status = page_check_args(&page);
	if (status == COMMAND_OK) {
		status = page_read(&page);
		if (page.profile.chunks && page_print(&page))
			status = COMMAND_FAILED;
		if (status == COMMAND_OK)
			empty_result_explain_profile(&page.profile, &args);
	}
	profile_free(&page.profile);
	profile_free(&page.base);
	args_free(&args);
	return status;
}

int cmd_flamegraph(int argc, char **argv)
{
	return page_run(argc, argv, false, flamegraph_options);
}

int cmd_heatmap(int argc, char **argv)
{
	return page_run(argc, argv, true, heatmap_options);
}
