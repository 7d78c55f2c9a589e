/* flamegraph: a self-contained HTML page. */
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

static const struct command_option own_options[] = {
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--reverse", NULL, "start with the innermost frames", ARG_FLAG,
	  offsetof(struct args, reverse) },
	{ "--title", "TEXT", "the page's title", ARG_STRING, offsetof(struct args, title) },
	{ "--min", "SHARE", "merge frames below this share of the whole (0)", ARG_RATIO,
	  offsetof(struct args, min_share) },
	{ "--blocked-by", NULL, "append the stacks of the owners of locks", ARG_FLAG,
	  offsetof(struct args, blocked_by) },
	{ 0 },
};

const struct command_option *const flamegraph_options[] = {
	own_options,  args_base,   args_metrics, args_total, args_filters,
	args_waits,   args_period, args_sources, args_trace, args_bucket,
	args_threads, args_names,  args_reading, NULL,
};

struct page {
	const struct args *args;
	struct profile profile, base;
	enum metric metric;
	bool by_total;
};

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
	char title[256];
	int err;

	snprintf(title, sizeof(title), "%s: %s%s", metric_texts[page->metric].name, args->files[0],
		 args->file_count > 1 ? " and others" : "");
	if (!graph.title)
		graph.title = title;
	if (output_open(&output, args->output))
		return COMMAND_FAILED;
	err = flamegraph_write(output.file, &graph);
	if (err)
		message_print("out of memory");
	return output_close(&output) || err ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_flamegraph(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct page page = { .args = &args, .profile = PROFILE_INIT, .base = PROFILE_INIT };
	int status;

	status = args_parse(&args, argc, argv, flamegraph_options);
	if (status == COMMAND_OK && !args.output && isatty(STDOUT_FILENO)) {
		message_print(
			"flamegraph: standard output is a terminal; write the page to a file: -o "
			"flame.html");
		status = COMMAND_USAGE;
	}
	args.query.contexts = true; /* the page filters by labels */
	if (status == COMMAND_OK) {
		status = command_read_profile(&page.profile, &args, metric_mask(args.metric));
		page.metric = profile_choose_metric(&page.profile, args.metric);
		if (args.base_count)
			status |= command_read_base(&page.base, &args, 1u << page.metric);
		page.by_total = args.total || metric_is_memory(page.metric);
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
