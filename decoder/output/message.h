/* What a command tells its user on stderr. */
#ifndef DECODER_OUTPUT_MESSAGE_H
#define DECODER_OUTPUT_MESSAGE_H

#include "profile/jfr/jfr_parsed.h"

/* Set by tests that feed in much damage. */
extern bool message_disabled;

/* "asprof-agent: " and the line, whatever it holds; one that was said before is not said again.
 * Thread-safe. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The line for a damaged file: its name, the offset, what is wrong. One for each file: who reads it
 * another way, or goes on behind the damage, may meet more of it. */
void message_print_damage(const char *file, const struct jfr_error *error);

#endif
