/* Where a command writes: -o FILE, which appears whole or not at all, or standard output. */
#ifndef DECODER_OUTPUT_OUTPUT_H
#define DECODER_OUTPUT_OUTPUT_H

#include <stdio.h>

struct output {
	FILE *file;
	const char *path; /* NULL: standard output */
	char *temporary;
};

/* PATH NULL or "-" is standard output. Returns 0, or -errno after a line on stderr. */
int output_open(struct output *output, const char *path);

/* Returns 0; or -errno after a line on stderr, and then no file is left. Standard output stays open:
 * main() looks at it when all is written. */
int output_close(struct output *output);

#endif
