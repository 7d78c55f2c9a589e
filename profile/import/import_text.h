/* Parts of the importers: lines, numbers, names. */
#ifndef PROFILE_IMPORT_IMPORT_TEXT_H
#define PROFILE_IMPORT_IMPORT_TEXT_H

#include "profile/import/import_writer.h"

struct import_input {
	const uint8_t *data;
	size_t length;
	int64_t time_ns; /* time of samples that have none */

	/* First problem: the position in the data, and a constant string. */
	uint64_t offset;
	const char *what;
};

/* Set the problem: WHAT at AT, a position in the data. Returns -EBADMSG. */
int import_reject(struct import_input *input, const void *at, const char *what);

/* A line of text, without its end. */
struct import_line {
	const char *text, *end;
	const char *next; /* start of the line after it */
};

/* Get the line at AT, before END. Returns false at END. */
bool import_next_line(struct import_line *line, const char *at, const char *end);

/* Read decimal digits at *AT, before END, and advance *AT. Returns false if there are none or the
 * number exceeds 64 bits. */
bool import_read_number(const char **at, const char *end, uint64_t *number);

/* Returns PATH without its directories. */
struct import_text import_file_name(struct import_text path);

/* Set SAMPLE's thread if TEXT is "[NAME tid=ID]" or "[tid=ID]", as collapsed and pprof name threads.
 * Returns false if it is anything else. */
bool import_read_thread(struct import_sample *sample, const char *text, size_t length);

#endif
