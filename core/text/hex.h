/* Hexadecimal text. It calls no C library. Async-signal-safe. */
#ifndef CORE_TEXT_HEX_H
#define CORE_TEXT_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the value of the digit C in lower case, or -1 for another character. */
static inline int hex_lower_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The same for a digit in either case. */
static inline int hex_digit(char c)
{
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : hex_lower_digit(c);
}

/* Decode TEXT of LENGTH characters in lower case to SIZE BYTES. Returns false if it is anything else; then BYTES
 * may have been changed. */
static inline bool hex_decode(const char *text, size_t length, uint8_t *bytes, size_t size)
{
	if (length != 2 * size)
		return false;
	for (size_t i = 0; i < length; i++) {
		int digit = hex_lower_digit(text[i]);

		if (digit < 0)
			return false;
		bytes[i / 2] = (uint8_t)(i & 1 ? bytes[i / 2] << 4 | digit : digit);
	}
	return true;
}

/* Write SIZE BYTES in lower case to OUT, without a NUL. Returns the end. */
static inline char *hex_encode(char *out, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		*out++ = "0123456789abcdef"[bytes[i] >> 4];
		*out++ = "0123456789abcdef"[bytes[i] & 15];
	}
	return out;
}

#endif
