/* The names that reports are given: "{executable}_{pid}_{time}.jfr" in a directory, and what tells
 * one from all others in a bucket. */
#ifndef UPLOAD_FILES_NAME_H
#define UPLOAD_FILES_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"

/* Room for "2026-11-21T02-10-00Z" and its NUL. */
#define NAME_TIME_SIZE 21

/* Room for a whole file name, with a "-N" where the name was taken. */
#define NAME_FILE_SIZE 256

/* MS, milliseconds since 1970, in UTC as "2026-11-21T02-10-00Z". */
void name_time(char out[NAME_TIME_SIZE], uint64_t ms);

/* What those names end in: a profile, and a recording that waits for its delivery. Neither is taken for
 * the other, though they may lie in one directory. */
#define NAME_PROFILE ".jfr"
#define NAME_SPOOLED ".spool.jfr"

/* The file name of REPORT in a directory, with END; TRY above 0 adds "-TRY". A very long executable's
 * name is cut between two characters so that the rest fits; what has no place in a file name, as a
 * '/' or a '.' in front, is replaced by '_'. */
void name_file(char out[NAME_FILE_SIZE], const struct report *report, const char *end,
	       unsigned int try);

/* A number that no other report has: of another process, a forked child, another container, host or
 * start, not even of another machine that was made from the same snapshot. Any thread. */
uint32_t name_unique(void);

/* True when NAME is one that name_file() makes with END; *SECONDS is then its time since 1970. */
bool name_parse(const char *name, const char *end, int64_t *seconds);

#endif
