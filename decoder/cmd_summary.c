/* summary: what is in the recordings. */
#include "decoder/commands.h"

#include <stdio.h>

int cmd_summary(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "asprof-agent: %s: no file given\n", argv[0]);
		return COMMAND_USAGE;
	}
	fprintf(stderr, "asprof-agent: %s: not read yet\n", argv[1]);
	return COMMAND_FAILED;
}
