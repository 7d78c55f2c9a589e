/* Sanitizer for untrusted text that is displayed or logged. Untrusted are names in recordings and zips, file names,
 * settings, environments, and answers of servers and other processes. Any thread; async-signal-safe. */
#ifndef CORE_TEXT_TEXT_CLEAN_H
#define CORE_TEXT_TEXT_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replace each byte of invalid UTF-8 and of characters that control a terminal by '?', in place. These characters
 * are control characters (also U+0080 to U+009F), line ends, line and paragraph separators, and changes of the
 * writing direction. Other valid UTF-8 is kept. */
void text_clean(void *text, size_t length);
void text_clean_string(char *text);

/* The same for text of several lines: tabs and line ends are kept. */
void text_clean_lines(void *text, size_t length);

/* Return the length of the UTF-8 character at P, at most LEFT bytes; 0 where there is none. */
size_t utf8_length(const uint8_t *p, size_t left);

/* Return the code point of the character of LENGTH bytes at P; LENGTH is at most three. */
uint32_t utf8_point(const uint8_t *p, size_t length);

/* True when text_clean() replaces the character of LENGTH bytes at P. */
bool utf8_is_control(const uint8_t *p, size_t length);

#endif
