/* Search for the table of names by number, which has no symbol. It is found by its unique form: the
 * last number, a table, and an array of arrays of exactly the size for these numbers. The first
 * names are strings that every Ruby has. */
#include <stdlib.h>
#include <string.h>

#include "engine/reading/process_memory.h"
#include "engine/runtime/ruby/ruby_find.h"

#define DATA_MAX  (16u << 20)
#define BLOCK     ((size_t)64 << 10)
#define NAMES_MAX (1u << 26)

/* Offsets in that structure. */
#define LAST_NUMBER 0
#define TABLE       8
#define ARRAYS      16
#define BYTES       24

#define NAMES_AT_ONCE 512

/* Ruby's own names come first, in the order of their numbers. */
#define NAMES_LOOKED_AT 4096

struct array {
	uint64_t length;
	uintptr_t at;
};

static bool read_array(uintptr_t value, struct array *array)
{
	uint64_t object[5];

	if (value < 4096 || value % 8 || process_memory_read(value, object, sizeof(object)) ||
	    (object[0] & RUBY_TYPES) != RUBY_ARRAY)
		return false;
	/* A short array holds its values itself. */
	if (object[0] >> 13 & 1) {
		array->length = 1;
		array->at = value + 16;
	} else {
		array->length = object[2];
		array->at = object[4];
	}
	return true;
}

/* Read the string at VALUE if it is short, as the expected names are. */
static bool read_name(const struct ruby_layout *layout, uintptr_t value, char *text, size_t size)
{
	uint8_t object[40];
	uint64_t flags, length;
	uintptr_t at;

	if (value < 4096 || value % 8 || process_memory_read(value, object, sizeof(object)))
		return false;
	flags = word_at(object, 0);
	if ((flags & RUBY_TYPES) != RUBY_STRING)
		return false;
	length = layout->string_has_length || flags >> 13 & 1 ? word_at(object, 16)
							      : flags >> 14 & 31;
	at = flags >> 13 & 1 ? word_at(object, 24) : value + (layout->string_has_length ? 24 : 16);
	if (!length || length >= size || process_memory_read(at, text, length))
		return false;
	text[length] = '\0';
	return true;
}

/* Whether the names up to LAST in the array of arrays at ARRAYS are Ruby's. */
static bool array_has_names(struct ruby *ruby, uintptr_t arrays, uint32_t last)
{
	uintptr_t first[2 * NAMES_AT_ONCE];
	uint32_t path = 0, attached = 0, each = 0, plus = 0;
	struct array all, some;
	uintptr_t value;
	char name[16];

	if (!read_array(arrays, &all) || all.length != last / NAMES_AT_ONCE + 1)
		return false;
	for (uint32_t i = 0; i < all.length && i < NAMES_LOOKED_AT / NAMES_AT_ONCE; i++) {
		if (process_memory_read(all.at + i * sizeof(value), &value, sizeof(value)) ||
		    !read_array(value, &some))
			return false;
		if (some.length > 2 * NAMES_AT_ONCE)
			return false;
		if (process_memory_read(some.at, first, some.length * sizeof(value)))
			return false;
		for (uint32_t at = 0; at < some.length / 2; at++) {
			if (!read_name(&ruby->layout, first[2 * at], name, sizeof(name)))
				continue;
			if (!strcmp(name, "__classpath__"))
				path = i * NAMES_AT_ONCE + at;
			else if (!strcmp(name, "__attached__"))
				attached = i * NAMES_AT_ONCE + at;
			else if (!strcmp(name, "each"))
				each = i * NAMES_AT_ONCE + at;
			else if (!strcmp(name, "+"))
				plus = i * NAMES_AT_ONCE + at;
		}
	}
	if (plus != '+' || !each ||
	    (ruby->layout.class != RUBY_CLASS_FIELD && (!path || !attached)))
		return false;
	ruby->path_serial = path;
	ruby->attached_serial = attached;
	return true;
}

bool ruby_find_names(struct ruby *ruby, uintptr_t data, uint64_t bytes)
{
	uint8_t *block;
	bool found = false;

	if (bytes > DATA_MAX)
		return false;
	block = malloc(BLOCK + BYTES);
	if (!block)
		return false;
	for (uint64_t at = 0; at + BYTES < bytes && !found; at += BLOCK) {
		size_t part = bytes - at < BLOCK + BYTES ? (size_t)(bytes - at) : BLOCK + BYTES;

		if (process_memory_read(data + at, block, part))
			continue;
		for (size_t i = 0; i + BYTES <= part && !found; i += 8) {
			uint64_t last = word_at(block, (unsigned)(i + LAST_NUMBER));
			uintptr_t table = word_at(block, (unsigned)(i + TABLE));

			last &= UINT32_MAX;
			if (last < NAMES_AT_ONCE || last > NAMES_MAX || table < 4096 || table % 8 ||
			    !array_has_names(ruby, word_at(block, (unsigned)(i + ARRAYS)),
					     (uint32_t)last))
				continue;
			ruby->names = data + at + i + ARRAYS;
			found = true;
		}
	}
	free(block);
	return found;
}
