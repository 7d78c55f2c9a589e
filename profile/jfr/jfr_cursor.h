/* Bounded reader of a recording's bytes. A read past the end, or of an invalid value, sets `bad`
 * and returns zero. Callers check `bad` once after a group of reads. */
#ifndef PROFILE_JFR_JFR_CURSOR_H
#define PROFILE_JFR_JFR_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline void cursor_fail(struct cursor *c)
{
	c->bad = true;
	c->at = c->end;
}

static inline void cursor_skip(struct cursor *c, uint64_t count)
{
	if (count > cursor_left(c))
		cursor_fail(c);
	else
		c->at += count;
}

static inline uint8_t cursor_byte(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->bad = true;
	return 0;
}

/* Read a compressed integer: seven bits per byte, least significant first; a ninth byte has
 * eight. */
static inline uint64_t cursor_varint(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift;
	uint8_t byte;

	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	for (shift = 0; shift < 56; shift += 7) {
		byte = cursor_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return value | (uint64_t)cursor_byte(c) << 56;
}

static inline void cursor_skip_varint(struct cursor *c)
{
	unsigned length = 1;

	while (length < 9 && c->at < c->end && *c->at >= 0x80) {
		c->at++;
		length++;
	}
	cursor_byte(c);
}

/* Decode a compressed integer at P without bounds checks, eight bytes at a time: events are many.
 * Nine bytes at P must be readable. Returns the address after the integer. */
static inline const uint8_t *varint_decode_unchecked(const uint8_t *p, uint64_t *value)
{
	uint64_t word, ends;

	if (*p < 0x80) {
		*value = *p;
		return p + 1;
	}
	memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	ends = ~word & 0x8080808080808080u;
	if (ends)
		word &= ends ^ (ends - 1); /* up to the first byte without a continuation bit */
	word &= 0x7f7f7f7f7f7f7f7fu;
	word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
	word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
	word = (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
	if (!ends) {
		*value = word | (uint64_t)p[8] << 56;
		return p + 9;
	}
	*value = word;
	return p + (__builtin_ctzll(ends) >> 3) + 1;
}

static inline uint64_t load_be64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return __builtin_bswap64(value);
}

static inline uint32_t load_be32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return __builtin_bswap32(value);
}

#endif
