/* export: other profilers' formats. */
#include "decoder/commands/args.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/export_formats.h"
#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"
#include "decoder/output/output.h"
#include "decoder/output/temp_file.h"
#include "profile/export/export.h"
#include "profile/otlp/otlp_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const struct command_option own_options[] = {
	{ "--format", "FORMAT", "speedscope, firefox, perfetto, otlp, collapsed or pprof",
	  ARG_STRING, offsetof(struct args, type) },
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--title", "TEXT", "the profile's title, where the format has one", ARG_STRING,
	  offsetof(struct args, title) },
	{ 0 },
};

const struct command_option *const export_options[] = {
	own_options, args_metrics, args_live,  args_total,  args_filters,
	args_period, args_sources, args_trace, args_bucket, args_threads,
	args_names,  args_reading, NULL,
};

struct export_job {
	const struct args *args;
	struct timed_store store;
	FILE *file;
	const char *title;
};

static int export_speedscope(struct export_job *job)
{
	return speedscope_write(job->file, &job->store, job->title);
}

static int export_firefox(struct export_job *job)
{
	return firefox_write(job->file, &job->store, job->title);
}

static int export_perfetto(struct export_job *job)
{
	return perfetto_write(job->file, &job->store);
}

static int export_otlp(struct export_job *job)
{
	struct libraries libraries = { 0 };
	int err;

	/* Errors were printed when the samples were read. */
	command_read_libraries(&libraries, job->args);
	err = otlp_file_write(job->file, &job->store, &libraries);
	libraries_free(&libraries);
	return err;
}

static const struct export_format {
	const char *name;
	int (*timed)(struct export_job *job); /* writes single samples; returns 0 or -errno */
	int (*summed)(struct args *args);     /* or writes their sums; returns a status */
	bool is_binary, wants_places, counts_raw, has_title;
} formats[] = {
	{ .name = "speedscope", .timed = export_speedscope, .has_title = true },
	{ .name = "firefox", .timed = export_firefox, .has_title = true },
	{ .name = "perfetto", .timed = export_perfetto, .is_binary = true, .wants_places = true },
	{ .name = "otlp", .timed = export_otlp, .is_binary = true, .wants_places = true },
	{ .name = "collapsed", .summed = collapsed_export, .counts_raw = true },
	{ .name = "pprof", .summed = pprof_export, .is_binary = true },
};

static const struct export_format *find_format(const struct args *args)
{
	for (size_t i = 0; args->type && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(args->type, formats[i].name))
			return &formats[i];
	message_print("export: --format takes speedscope, firefox, perfetto, otlp, collapsed or "
		      "pprof");
	return NULL;
}

static int write_output(struct export_job *job, const struct export_format *format)
{
	struct output output;
	int err;

	if (output_open(&output, job->args->output))
		return COMMAND_FAILED;
	job->file = output.file;
	err = format->timed(job);
	if (err)
		message_print("%s: %s", job->args->output ? job->args->output : "standard output",
			      strerror(-err));
	return output_close(&output) || err ? COMMAND_FAILED : COMMAND_OK;
}

/* Read all samples. Returns a status, after a message. */
static int read_store(struct export_job *job)
{
	const struct args *args = job->args;
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	if (!err)
		err = timed_store_read(&job->store, &args->query, feed, metric_mask(args->metric),
				       temp_file_create);
	if (err && err != -ENOMEM && err != -EIO)
		message_print("export: temporary file: %s", strerror(-err));
	file_feed_close(feed);
	command_print_losses(args, &job->store.profile.losses);
	if (job->store.marks_cut)
		message_print("export: the last %" PRIu64 " marks are omitted: there are too many",
			      job->store.marks_cut);
	return command_status_from_error(err);
}

static int export_timed(const struct args *args, const struct export_format *format)
{
	struct export_job job = { .args = args, .store = { .profile = PROFILE_INIT, .fd = -1 } };
	char title[256];
	int status = read_store(&job);

	snprintf(title, sizeof(title), "%s%s", args->files[0],
		 args->file_count > 1 ? " and others" : "");
	job.title = args->title ? args->title : title;
	if (job.store.profile.chunks && write_output(&job, format))
		status = COMMAND_FAILED;
	if (status == COMMAND_OK && !job.store.count)
		empty_result_explain(args, metric_mask(args->metric), "nothing was recorded");
	timed_store_free(&job.store);
	return status;
}

/* NULL: FORMAT supports all of ARGS. */
static const char *unsupported_switch(const struct args *args, const struct export_format *format)
{
	if (args->total && !format->counts_raw)
		return "--total";
	if (args->query.threads && !format->counts_raw)
		return "--threads";
	return args->title && !format->has_title ? "--title" : NULL;
}

static int run_export(struct args *args)
{
	const struct export_format *format = find_format(args);
	const char *unsupported = format ? unsupported_switch(args, format) : NULL;

	if (!format)
		return COMMAND_USAGE;
	if (unsupported) {
		message_print("export: --format %s does not support %s", format->name, unsupported);
		return COMMAND_USAGE;
	}
	if (format->timed && args->metric == METRIC_LIVE) {
		message_print("export: %s requires --format collapsed or pprof (for Java's "
			      "objects use --live-objects)",
			      args->query.leak ? "--leak" : "--live");
		return COMMAND_USAGE;
	}
	if (format->is_binary && !args->output && isatty(STDOUT_FILENO)) {
		message_print("export: standard output is a terminal; write to a file: -o OUT");
		return COMMAND_USAGE;
	}
	args->query.places |= format->wants_places;
	args->query.contexts = true;
	if (format->counts_raw)
		args->query.weighted = false;
	return format->summed ? format->summed(args) : export_timed(args, format);
}

int cmd_export(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	int status = args_parse(&args, argc, argv, export_options);

	if (status == COMMAND_OK)
		status = run_export(&args);
	args_free(&args);
	return status;
}
