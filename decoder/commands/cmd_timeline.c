/* timeline: a page with a lane for each thread over time, and the flame graph of a range. */
#include "decoder/commands/args.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/empty_result.h"
#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"
#include "decoder/output/output.h"
#include "profile/page/page_stacks.h"
#include "profile/timeline/timeline.h"
#include "profile/waits/owner_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

static const struct command_option own_options[] = {
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--title", "TEXT", "the page's title", ARG_STRING, offsetof(struct args, title) },
	{ "--blocked-by", NULL, "append the stacks of the owners of locks", ARG_FLAG,
	  offsetof(struct args, blocked_by) },
	{ "--min", "SHARE", "merge frames below this share of the whole (0)", ARG_RATIO,
	  offsetof(struct args, min_share) },
	{ 0 },
};

const struct command_option *const timeline_options[] = {
	own_options, args_metrics, args_filters, args_waits, args_period,  args_sources,
	args_trace,  args_bucket,  args_renames, args_names, args_reading, NULL,
};

/* The metric of the lanes: wall-clock time shows what threads wait for; without it, CPU time. */
static const enum metric metric_order[] = { METRIC_WALL, METRIC_CPU, METRIC_LOCK, METRIC_MALLOC,
					    METRIC_OBJECT };

static int read_metric(struct timed_profile *timed, const struct args *args, enum metric metric)
{
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	timed_profile_free(timed);
	if (!err)
		err = timed_profile_read(timed, &args->query, feed, metric, PAGE_SAMPLES_MAX);
	file_feed_close(feed);
	if (err != -ENOMEM && args->blocked_by && owner_stacks_append(&timed->profile))
		err = -ENOMEM;
	return command_status_from_error(err);
}

/* Read the samples of *METRIC; METRIC_ANY becomes the first one that there is. Returns a status. */
static int read_timed(struct timed_profile *timed, const struct args *args, enum metric *metric)
{
	int status = COMMAND_OK;

	if (*metric)
		return read_metric(timed, args, *metric);
	for (size_t i = 0; i < sizeof(metric_order) / sizeof(metric_order[0]); i++) {
		*metric = metric_order[i];
		status = read_metric(timed, args, *metric);
		if (status != COMMAND_OK || timed->profile.count)
			break;
	}
	return status;
}

/* Processes can have different sampling intervals, so times are added up, not samples. */
static bool shows_totals(const struct profile *profile, enum metric metric)
{
	return metric_is_memory(metric) || metric == METRIC_LOCK || profile->periods[metric] > 0;
}

static int write_page(struct timed_profile *timed, const struct args *args, enum metric metric)
{
	struct timeline timeline;
	struct flamegraph graph = { .profile = &timed->profile,
				    .metric = metric,
				    .by_total = shows_totals(&timed->profile, metric),
				    .min_share = args->min_share,
				    .title = args->title,
				    .row_ms = (uint32_t)timed->row_ms,
				    .column_ms = (uint32_t)timed->row_ms,
				    .part = &timeline.part };
	struct output output;
	char title[256];
	int err;

	timeline_init(&timeline, timed, metric);
	snprintf(title, sizeof(title), "%s over time: %s%s", metric_texts[metric].name,
		 args->files[0], args->file_count > 1 ? " and others" : "");
	if (!graph.title)
		graph.title = title;
	if (output_open(&output, args->output))
		return COMMAND_FAILED;
	err = flamegraph_write(output.file, &graph);
	if (err)
		message_print("out of memory");
	return output_close(&output) || err ? COMMAND_FAILED : COMMAND_OK;
}

static int run_timeline(const struct args *args)
{
	struct timed_profile timed = { .profile = PROFILE_INIT };
	enum metric metric = args->metric;
	int status = read_timed(&timed, args, &metric);

	command_print_losses(args, &timed.profile.losses);
	if (timed.marks_cut)
		message_print("timeline: %" PRIu64 " marks are omitted: there are too many",
			      timed.marks_cut);
	if (timed.profile.count && write_page(&timed, args, metric))
		status = COMMAND_FAILED;
	if (status == COMMAND_OK && !timed.profile.count)
		empty_result_explain(args, metric_mask(args->metric), "nothing was recorded");
	timed_profile_free(&timed);
	return status;
}

int cmd_timeline(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	int status = args_parse(&args, argc, argv, timeline_options);

	if (status == COMMAND_OK && !args.output && isatty(STDOUT_FILENO)) {
		message_print("timeline: standard output is a terminal; write the page to a file: "
			      "-o time.html");
		status = COMMAND_USAGE;
	}
	args.query.contexts = true; /* the page filters by labels, and colours by state */
	if (!args.query.waits)
		args.query.waits = WAIT_PARTS_KIND;
	args.query.wait_guesses = true;
	if (status == COMMAND_OK)
		status = run_timeline(&args);
	args_free(&args);
	return status;
}
