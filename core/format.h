/* Lines of text as by printf(3), without stdio and locale: what the program has done to those is not our
 * concern, and they may not be touched in a handler, nor in a thread that its C library does not know.
 * Async-signal-safe. */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Write FORMAT into TEXT of SIZE bytes, at least one, which end with a NUL: what does not fit is cut.
 * Returns the length of what was written. It takes %s, with a precision; %c; %d and %i, %u and %x, for
 * l, ll, z and j as well, with a width, of zeroes too; %p; and %%. */
size_t format_text(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t format_list(char *text, size_t size, const char *format, va_list list)
	__attribute__((format(printf, 3, 0)));

#endif
