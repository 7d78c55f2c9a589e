/* Names of reports: the file name "{executable}_{pid}_{time}.jfr", and the unique number in an
 * object's name. */
#ifndef UPLOAD_FILES_NAME_H
#define UPLOAD_FILES_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"

/* Size of "2026-11-21T02-10-00Z" with its NUL. */
#define NAME_TIME_SIZE 21

/* Size of a whole file name with its NUL, including the "-N" of a name that was taken. */
#define NAME_FILE_SIZE 256

/* Format MS, milliseconds since 1970, in UTC as "2026-11-21T02-10-00Z". */
void name_time(char out[NAME_TIME_SIZE], uint64_t ms);

/* Suffixes of file names: a profile, and a recording that waits for its delivery. Both kinds may
 * lie in one directory; name_parse() does not confuse them. */
#define NAME_PROFILE ".jfr"
#define NAME_SPOOLED ".spool.jfr"

/* Make the file name of REPORT with SUFFIX. A TRY above 0 adds "-TRY".
 *
 * A very long executable name is cut between two UTF-8 characters. Each '/', control character
 * and leading '.' becomes '_'. */
void name_file(char out[NAME_FILE_SIZE], const struct report *report, const char *suffix,
	       unsigned int try);

/* Draw a random number to distinguish the reports of one second. It differs between processes, forked children, containers,
 * hosts, starts, and machines restored from the same snapshot. Any thread. */
uint32_t name_unique(void);

/* True if TEXT begins with PATTERN, in which "d" is a digit and "x" a hexadecimal digit. Each run of
 * "d" is a number, stored in NUMBERS in order. NUMBERS may be NULL for a pattern without "d". */
bool name_matches(const char *text, const char *pattern, unsigned int *numbers);

/* True if name_file() makes NAME with SUFFIX; *SECONDS is then its time since 1970. */
bool name_parse(const char *name, const char *suffix, int64_t *seconds);

#endif
