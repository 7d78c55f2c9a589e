/* Any lines as the words of a command line. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/commands/args.h"
#include "decoder/output/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest, *word;
	char *argv[WORDS_MAX + 1] = { "fuzz" };
	struct args args = ARGS_INIT("fuzz");
	int argc = 1;

	message_disabled = true;
	for (word = strtok_r(text, "\n", &rest); word && argc < WORDS_MAX;
	     word = strtok_r(NULL, "\n", &rest))
		argv[argc++] = word;
	args_parse(&args, argc, argv, top_options);
	args_free(&args);
	free(text);
	return 0;
}
