/* Import: converts other profilers' files to a recording, so that every command reads them.
 *
 * The input is hostile: any bytes, of any length. Memory grows with its different names, stacks and
 * threads. One thread converts a file. */
#ifndef PROFILE_IMPORT_IMPORT_H
#define PROFILE_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_problem {
	uint64_t offset;  /* of the first malformed byte or line */
	const char *what; /* a constant string */
};

/* A format: whether DATA looks like it, and its name for messages. */
struct import_format;

/* Returns the format of DATA, or NULL if it has no known one. */
const struct import_format *import_find_format(const uint8_t *data, size_t length);
const char *import_format_name(const struct import_format *format);

/* Convert DATA to a recording in FD, an empty file that the caller owns. TIME_NS (since 1970) is the
 * time of samples that have none. Returns 0; -EBADMSG with *PROBLEM set if DATA is malformed;
 * -ENOMEM, or the -errno of a write. */
int import_convert(const struct import_format *format, const uint8_t *data, size_t length, int fd,
		   int64_t time_ns, struct import_problem *problem);

#endif
