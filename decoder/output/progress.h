/* How far something is, in one line of the terminal that is wiped out again. Nothing where stderr is no
 * terminal, and nothing in the first second. */
#ifndef DECODER_OUTPUT_PROGRESS_H
#define DECODER_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool terminal, shown;
	uint64_t started_ns, shown_ns;
};

void progress_start(struct progress *progress);

/* Ten times a second at most, however often it is called. */
void progress_show(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void progress_clear(struct progress *progress);

#endif
