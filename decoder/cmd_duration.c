/* duration: seconds recorded. */
#include "decoder/args.h"
#include "decoder/chunks.h"

#include <stdio.h>
#include <stdlib.h>

const struct command_option duration_options[] = {
	{ "--zip", NULL, "ignored: a zip is known by its content", ARG_IGNORED, 0 },
	{ 0 },
};

static int add(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from)
{
	uint64_t *sum = arg;

	(void)from;
	*sum += (uint64_t)chunk->header.duration_ns;
	return 0;
}

/* The shortest decimal fraction that reads back as NUMBER. */
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
	uint64_t ns = 0;
	int status = args_parse(&args, argc, argv, duration_options, NULL);

	if (status == COMMAND_OK) {
		status = chunks_read(&args, add, &ns);
		if (status == COMMAND_OK || ns)
			print_shortest((double)(ns / 1000000000u) +
				       (double)(ns % 1000000000u) / 1e9);
	}
	args_free(&args);
	return status;
}
