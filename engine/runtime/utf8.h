/* Characters of an interpreter's strings as UTF-8. */
#ifndef ENGINE_RUNTIME_UTF8_H
#define ENGINE_RUNTIME_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Write character C to OUT, which has room for 4 bytes. Returns how many it takes. Async-signal-safe. */
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
		/* Half of a pair is no character: alone it is what a name that is not UTF-8 becomes in Python, and
		 * V8's names hardly have pairs. */
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
