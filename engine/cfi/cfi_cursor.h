/* Bounds-checked reader of an unwind section's bytes, which may be malformed. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_CURSOR_H
#define ENGINE_CFI_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/cfi/cfi_source.h"
#include "engine/reading/memory_reader.h"

/* A position in a section. Reading past the end returns zeros and sets BAD permanently. */
struct cursor {
	const uint8_t *p, *end;
	uint64_t address;             /* link address of END */
	struct memory_reader *reader; /* the reader of the source */
	bool bad;
};

/* Pointer encoding (DW_EH_PE_...): its form, and its base. */
enum {
	PE_OMIT = 0xff,
	PE_FORM = 0x0f,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30
};

/* Read a pointer in ENCODING, as a link address. With SOURCE NULL only the form is used, and the
 * result is a plain number. */
uint64_t cursor_pointer(struct cursor *c, uint8_t encoding, const struct cfi_source *source);

static inline uint64_t cursor_address(const struct cursor *c)
{
	return c->address - (uint64_t)(c->end - c->p);
}

/* Read SIZE bytes to DATA, which stays unchanged if they are not available. */
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

/* Read a LEB128 number: seven bits per byte, the lowest first. Sets *WIDTH to the number of bits
 * read and *NEGATIVE to the sign bit. */
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

/* Overflow in malicious input wraps and is not undefined behaviour. */
static inline int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrapping_multiply(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

#endif
