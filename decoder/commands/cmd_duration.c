/* duration: number of seconds recorded. */
#include "decoder/commands/args.h"
#include "decoder/commands/chunk_visit.h"
#include "decoder/commands/empty_result.h"

#include <stdio.h>
#include <stdlib.h>

const struct command_option *const duration_options[] = {
	args_period, args_sources, args_bucket, args_zip, NULL,
};

struct recorded_time {
	uint64_t ns;
	bool any;
};

static int duration_add_chunk(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
			      struct chunk_filter *filter)
{
	struct profile span = PROFILE_INIT;
	struct recorded_time *sum = arg;

	(void)from;
	period_add_chunk(&filter->period, &span, &chunk->header);
	if (span.start_ns > span.end_ns)
		return 0;
	sum->any = true;
	sum->ns += (uint64_t)(filter->args->query.from.kind || filter->args->query.to.kind
				      ? span.end_ns - span.start_ns
				      : chunk->header.duration_ns);
	return 0;
}

/* Print the shortest decimal fraction that is parsed as NUMBER. */
static void print_shortest(double number)
{
	char text[64];

	for (int digits = 0; digits < 20; digits++) {
		snprintf(text, sizeof(text), "%.*f", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	puts(text);
}

int cmd_duration(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct recorded_time sum = { 0 };
	int status = args_parse(&args, argc, argv, duration_options);

	if (status == COMMAND_OK) {
		status = chunk_visit_all(&args, duration_add_chunk, &sum);
		if (status == COMMAND_OK || sum.ns)
			print_shortest((double)(sum.ns / 1000000000u) +
				       (double)(sum.ns % 1000000000u) / 1e9);
		if (status == COMMAND_OK && !sum.any)
			empty_result_explain(&args, 0, "nothing was recorded");
	}
	args_free(&args);
	return status;
}
