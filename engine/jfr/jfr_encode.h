/* Encoding of JFR's numbers and strings. */
#ifndef ENGINE_JFR_JFR_ENCODE_H
#define ENGINE_JFR_JFR_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JFR_VARINT_MAX    9
#define JFR_PADDED_LENGTH 4
#define JFR_PADDED_MAX    ((1u << 28) - 1)

/* First byte of a string. */
enum jfr_string_encoding {
	JFR_STRING_NULL,
	JFR_STRING_EMPTY,
	JFR_STRING_CONSTANT,
	JFR_STRING_UTF8,
	JFR_STRING_CHARS,
	JFR_STRING_LATIN1,
};

/* LEB128: seven bits per byte, the lowest first; a ninth byte holds the last eight bits. Returns
 * the end. */
static inline uint8_t *jfr_put_varint(uint8_t *p, uint64_t value)
{
	int i;

	for (i = 1; i < JFR_VARINT_MAX && value > 0x7f; i++) {
		*p++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

/* Write a number up to JFR_PADDED_MAX in JFR_PADDED_LENGTH bytes, for sizes that are known
 * later. */
static inline void jfr_put_padded(uint8_t *p, size_t value)
{
	p[0] = (uint8_t)(value | 0x80);
	p[1] = (uint8_t)(value >> 7 | 0x80);
	p[2] = (uint8_t)(value >> 14 | 0x80);
	p[3] = (uint8_t)(value >> 21 & 0x7f);
}

static inline uint8_t *jfr_put_be(uint8_t *p, uint64_t value, int bytes)
{
	while (bytes--)
		*p++ = (uint8_t)(value >> 8 * bytes);
	return p;
}

static inline uint8_t *jfr_put_float(uint8_t *p, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return jfr_put_be(p, bits, sizeof(bits));
}

static inline uint8_t *jfr_put_bytes(uint8_t *p, enum jfr_string_encoding encoding,
				     const void *data, size_t length)
{
	*p++ = (uint8_t)encoding;
	p = jfr_put_varint(p, length);
	if (length)
		memcpy(p, data, length);
	return p + length;
}

/* The length of STRING, cut to MAX bytes without splitting a UTF-8 character. */
static inline size_t jfr_string_length(const char *string, size_t max)
{
	size_t length = strnlen(string, max + 1);

	if (length <= max)
		return length;
	length = max;
	while (length && ((uint8_t)string[length] & 0xc0) == 0x80)
		length--;
	return length;
}

#endif
