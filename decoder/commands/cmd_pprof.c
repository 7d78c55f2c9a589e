/* pprof: a gzipped profile.proto, for `go tool pprof` and similar tools. */
#include "decoder/commands/args.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/export_formats.h"
#include "decoder/output/output.h"
#include "decoder/output/message.h"
#include "profile/pprof/pprof_write.h"

#include <errno.h>
#include <string.h>

static const struct command_option own_options[] = {
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ 0 },
};

const struct command_option *const pprof_options[] = {
	own_options, args_metrics, args_live,  args_filters, args_waits,
	args_period, args_sources, args_trace, args_bucket,  args_renames,
	args_names,  args_reading, NULL,
};

static int print_pprof(const struct args *args, const struct profile *profile)
{
	struct libraries libraries = { 0 };
	struct output output;
	int err;

	if (output_open(&output, args->output))
		return COMMAND_FAILED;
	command_read_libraries(&libraries,
			       args); /* errors were printed when the samples were read */
	err = pprof_write(output.file, profile, &libraries);
	libraries_free(&libraries);
	if (err)
		message_print("%s: %s", args->output ? args->output : "standard output",
			      strerror(-err));
	if (output_close(&output))
		err = -EIO;
	return err ? COMMAND_FAILED : COMMAND_OK;
}

int pprof_export(struct args *args)
{
	struct profile profile = PROFILE_INIT;
	uint32_t metrics = metric_mask(args->metric);
	int status;

	args->query.places = true;
	args->query.contexts = true;
	args->query.waits = WAIT_PARTS_OBJECT;
	if (args->metric == METRIC_ANY)
		metrics |= 1u << METRIC_LIVE;
	status = command_read_profile(&profile, args, metrics);
	if (profile.chunks && print_pprof(args, &profile))
		status = COMMAND_FAILED;
	if (status == COMMAND_OK)
		empty_result_explain_profile(&profile, args);
	profile_free(&profile);
	return status;
}

int cmd_pprof(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	int status = args_parse(&args, argc, argv, pprof_options);

	if (status == COMMAND_OK)
		status = pprof_export(&args);
	args_free(&args);
	return status;
}
