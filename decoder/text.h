/* Numbers and names as people and programs read them. */
#ifndef DECODER_TEXT_H
#define DECODER_TEXT_H

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

/* STRING quoted for JSON. */
void json_string(FILE *out, const char *string);

/* A number without an exponent, whole where it is whole. */
void json_number(FILE *out, double number);

/* The width of the terminal on stdout; 0 where it is none. */
unsigned text_width(void);

/* NAME in at most WIDTH columns (0: whole), its middle left out. */
void text_name(FILE *out, const char *name, unsigned width);

#endif
