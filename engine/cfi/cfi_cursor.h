/* Reads the bytes of an unwind section, whatever they are. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_CURSOR_H
#define ENGINE_CFI_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/cfi/cfi_source.h"
#include "engine/reading/memory_reader.h"

/* A position in a section. Reading past the end gives zeros and sets BAD for good. */
struct cursor {
	const uint8_t *p, *end;
	uint64_t address;             /* link address of END */
	struct memory_reader *reader; /* as the source has it */
	bool bad;
};

/* How a pointer is encoded (DW_EH_PE_...): its form, and what it is relative to. */
enum {
	PE_OMIT = 0xff,
	PE_FORM = 0x0f,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30
};

/* A pointer in ENCODING, as a link address. Its form alone, with SOURCE NULL, gives a plain
 * number. */
uint64_t cursor_pointer(struct cursor *c, uint8_t encoding, const struct cfi_source *source);

static inline uint64_t cursor_address(const struct cursor *c)
{
	return c->address - (uint64_t)(c->end - c->p);
}

/* Take SIZE bytes, which stay as they are where there are none. */
static inline void cursor_copy(struct cursor *c, void *data, size_t size)
{
	if ((size_t)(c->end - c->p) < size ||
	    (c->reader && !memory_read(c->reader, data, (uintptr_t)c->p, size))) {
		c->bad = true;
		c->p = c->end;
		return;
	}
	if (!c->reader)
		memcpy(data, c->p, size);
	c->p += size;
}

static inline uint64_t cursor_bytes(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	cursor_copy(c, &value, size); /* both processors are little-endian */
	return c->bad ? 0 : value;
}

static inline void cursor_skip(struct cursor *c, uint64_t size)
{
	if ((uint64_t)(c->end - c->p) < size) {
		c->bad = true;
		c->p = c->end;
		return;
	}
	c->p += size;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)cursor_bytes(c, 1);
}

/* Seven bits a byte, the lowest first. Sets *WIDTH to the bits read and *NEGATIVE to the last. */
static inline uint64_t cursor_leb(struct cursor *c, unsigned *width, bool *negative)
{
	uint64_t value = 0;
	uint8_t byte;

	*width = 0;
	do {
		byte = cursor_u8(c);
		if (*width < 64)
			value |= (uint64_t)(byte & 0x7f) << *width;
		*width += 7;
	} while (byte & 0x80);
	*negative = byte & 0x40;
	return value;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	unsigned width;
	bool negative;

	return cursor_leb(c, &width, &negative);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	unsigned width;
	bool negative;
	uint64_t value = cursor_leb(c, &width, &negative);

	if (negative && width < 64)
		value |= ~(uint64_t)0 << width;
	return (int64_t)value;
}

/* Sums of hostile numbers wrap instead of being undefined. */
static inline int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrapping_multiply(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

#endif
