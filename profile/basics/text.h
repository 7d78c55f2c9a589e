/* Formatting of numbers, times and names for terminals and for JSON.
 * The text_ functions with OUT write into OUT and return it. */
#ifndef PROFILE_BASICS_TEXT_H
#define PROFILE_BASICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/text/text_clean.h"

#define TEXT_NUMBER 24

/* "1.5 MiB", "980 B". */
const char *text_bytes(char out[TEXT_NUMBER], double bytes);

/* "5.94 s", "312 us", "2.5 h". */
const char *text_duration(char out[TEXT_NUMBER], double ns);

/* "1234", "1.2M" from a million on. */
const char *text_count(char out[TEXT_NUMBER], double count);

/* AMOUNT in UNIT: "bytes", "nanoseconds", or the name of a count. */
const char *text_amount(char out[TEXT_NUMBER], double amount, const char *unit);

/* NS nanoseconds since 1970 in UTC: "2026-11-21T02:29:39Z". */
const char *text_time(char out[TEXT_NUMBER], int64_t ns);

/* Local time MS milliseconds since 1970, in strftime(3)'s FORMAT. Prints the number itself if it
 * is negative or after the year 9999. */
const char *text_local_time(char out[TEXT_NUMBER], double ms, const char *format);

/* Whether TEXT ends in SUFFIX and is longer than SUFFIX. */
bool text_has_suffix(const char *text, const char *suffix);

/* Returns the part of PATH after its last '/'. */
const char *text_base_name(const char *path);

/* Find TEXT as a whole line of LINES or, with IS_KEY, as the key of a line "TEXT=value". Returns the
 * position after it, where the value starts, or NULL. */
const char *text_find_line(const char *lines, const char *text, bool is_key);

/* Write STRING as a quoted JSON string. Characters that text_clean() would replace are escaped. */
void json_string(FILE *out, const char *string);

/* Write NUMBER without an exponent; integers without decimals; 0 if it is not finite. */
void json_number(FILE *out, double number);

/* Returns the width of the terminal on stdout in columns; 0 if stdout is not a terminal. It is that
 * of the first call, as stdout may become the pipe of a pager. */
unsigned text_terminal_width(void);

/* Returns the width of TEXT: each UTF-8 character counts as one column. */
size_t text_width(const char *text);

/* Print NAME in at most WIDTH columns (0: unlimited). A longer name loses its middle. */
void text_print_name(FILE *out, const char *name, unsigned width);

#endif
