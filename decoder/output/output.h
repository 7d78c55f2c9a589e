/* Output of a command: the file of -o, or standard output. The file appears when it is complete. */
#ifndef DECODER_OUTPUT_OUTPUT_H
#define DECODER_OUTPUT_OUTPUT_H

#include <stdio.h>

struct output {
	FILE *file;
	const char *path; /* NULL: standard output */
	char *temporary;
};

/* Open PATH; NULL or "-" is standard output. Returns 0, or -errno after a message. Close with output_close(). */
int output_open(struct output *output, const char *path);

/* Close the file and move it into place. Standard output stays open: main() flushes it.
 * Returns 0; or -errno after a message, and then no file is left. */
int output_close(struct output *output);

#endif
