/* Numbers and names as people and programs read them. */
#ifndef PROFILE_BASICS_TEXT_H
#define PROFILE_BASICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_NUMBER 24

/* "1.5 MiB", "980 B". */
const char *text_bytes(char out[TEXT_NUMBER], double bytes);

/* "5.94 s", "312 us", "2.5 h". */
const char *text_duration(char out[TEXT_NUMBER], double ns);

/* "1234", "1.2M" from ten thousands on. */
const char *text_count(char out[TEXT_NUMBER], double count);

/* In UNIT: "bytes", "nanoseconds", or anything that is counted. */
const char *text_amount(char out[TEXT_NUMBER], double amount, const char *unit);

/* "2026-11-21T02:29:39Z". */
const char *text_time(char out[TEXT_NUMBER], int64_t ns);

/* The one rule for whatever comes from outside and is shown (names in recordings and zips, file names,
 * settings, the environment): what is no UTF-8, and what a terminal would obey rather than show,
 * becomes a '?' for each byte, in place. That is control characters, those of 0x80 to 0x9f included,
 * ends of lines, and the marks that turn the direction of writing. */
void text_clean(void *text, size_t length);
void text_clean_string(char *text);

/* Whether TEXT ends in END, and has more than that. */
bool text_has_suffix(const char *text, const char *end);

/* STRING quoted for JSON; what text_clean() would not leave is escaped. */
void json_string(FILE *out, const char *string);

/* A number without an exponent, whole where it is whole. */
void json_number(FILE *out, double number);

/* The width of the terminal on stdout; 0 where it is none. */
unsigned text_terminal_width(void);

/* NAME in at most WIDTH columns (0: whole), its middle left out. */
void text_print_name(FILE *out, const char *name, unsigned width);

#endif
