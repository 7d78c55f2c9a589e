/* UTF-8 encoder. It calls no C library. Async-signal-safe. */
#ifndef CORE_TEXT_UTF8_H
#define CORE_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Write code point C, or a lone surrogate, to OUT, which has 4 bytes of space, without a NUL. Numbers above 0x10ffff
 * are not checked. Returns the number of bytes written. */
static inline size_t utf8_encode(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The same for a character of an interpreter's string: a surrogate becomes '?'. Python has lone ones in names that
 * are not UTF-8. V8's pairs are not combined: names seldom have them. */
static inline size_t utf8_write(char *out, uint32_t c)
{
	return utf8_encode(out, c >= 0xd800 && c < 0xe000 ? '?' : c);
}

#endif
