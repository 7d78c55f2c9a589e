/* Messages of the command on stderr, and text from outside printed to stdout. */
#ifndef DECODER_OUTPUT_MESSAGE_H
#define DECODER_OUTPUT_MESSAGE_H

#include "profile/jfr/jfr_parsed.h"

/* Set by tests that read much damaged input. */
extern bool message_disabled;

/* Print "asprof-agent: " and the formatted line to stderr, control characters replaced. Each distinct line is
 * printed once. Thread-safe. */
void message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print to stdout, cleaned by text_clean(). Of all newlines only one at the end of FORMAT is kept. */
void print_clean(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print LENGTH bytes of DATA to stdout, cleaned in place by text_clean_lines(). */
void print_clean_lines(void *data, size_t length);

/* Print the message for a damaged file: its name, the offset and the problem. Only the first message of each file
 * is printed, as further damage often follows from the first. */
void message_print_damage(const char *file, const struct jfr_error *error);

#endif
