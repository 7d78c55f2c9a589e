/* snprintf(3) without stdio and locale. The program may have changed both. Signal handlers and threads unknown to
 * the C library must not use them. Async-signal-safe. */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Format into TEXT of SIZE bytes, at least one. The text ends with a NUL and is truncated if it does not fit.
 * Returns the length of the written text.
 *
 * Conversions: %s, also with a precision; %c; %d, %i, %u and %x, also with l, ll, z, j, a width and zero padding;
 * %p; %%. */
size_t format_text(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t format_list(char *text, size_t size, const char *format, va_list list)
	__attribute__((format(printf, 3, 0)));

#endif
