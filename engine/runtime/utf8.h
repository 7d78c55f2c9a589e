/* UTF-8 encoder for the characters of an interpreter's strings. */
#ifndef ENGINE_RUNTIME_UTF8_H
#define ENGINE_RUNTIME_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Write code point C to OUT, which has 4 bytes of space, without a NUL. A surrogate becomes '?'. Numbers
 * above 0x10ffff are not checked. Returns the number of bytes written. Async-signal-safe. */
static inline size_t utf8_write(char *out, uint32_t c)
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
		/* A lone surrogate is not a character: Python uses it for names that are not UTF-8.
		 * V8's surrogate pairs are not combined: names seldom have them. */
		if (c >= 0xd800 && c < 0xe000) {
			out[0] = '?';
			return 1;
		}
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

#endif
