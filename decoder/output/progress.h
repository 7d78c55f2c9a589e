/* Progress line on the terminal, removed at the end. It is not shown if stderr is no terminal, nor in the
 * first second. One thread at a time. */
#ifndef DECODER_OUTPUT_PROGRESS_H
#define DECODER_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool is_terminal, is_shown;
	uint64_t started_ns, shown_ns;
};

void progress_start(struct progress *progress);

/* Show the line. It is updated at most ten times a second, so any loop can call this. */
void progress_show(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void progress_clear(struct progress *progress);

#endif
