/* Objects in V8's heap: their types, and strings. Every read may fail. */
#include <errno.h>
#include <string.h>

#include "core/text/utf8.h"
#include "engine/runtime/v8/v8.h"

#include "core/system.h"

struct v8_memory *v8_memory;

int v8_open(void)
{
	if (v8_memory)
		return 0;
	v8_memory = system_map(sizeof(*v8_memory));
	if (!v8_memory)
		return -ENOMEM;
	system_empty_in_children(v8_memory, sizeof(*v8_memory));
	return 0;
}

/* ---- Reading ---- */

bool v8_copy(struct v8_work *work, void *data, uintptr_t address, size_t size)
{
	return memory_copies_read(&work->copies, data, address, size);
}

bool v8_read_word(struct v8_work *work, uintptr_t address, uintptr_t *word)
{
	return address % sizeof(*word) == 0 && v8_copy(work, word, address, sizeof(*word));
}

/* ---- Objects ---- */

#define TAG 1

static bool is_reference(uintptr_t value)
{
	return (value & 7) == TAG;
}

uintptr_t v8_object(const struct v8 *v8, struct v8_work *work, uintptr_t value, uint16_t *type)
{
	uintptr_t object = value - TAG, map;

	if (!is_reference(value) || !v8_read_word(work, object, &map))
		return 0;
	/* It was moved: its map word holds the new address. */
	if (map && !(map & 7)) {
		object = map;
		if (!v8_read_word(work, object, &map))
			return 0;
	}
	if (!is_reference(map) ||
	    !v8_copy(work, type, map - TAG + v8->layout.map_instance_type, sizeof(*type)))
		return 0;
	return object;
}

uintptr_t v8_field(const struct v8 *v8, struct v8_work *work, uintptr_t field, uint16_t type)
{
	uintptr_t value, object;
	uint16_t got;

	if (!v8_read_word(work, field, &value))
		return 0;
	object = v8_object(v8, work, value, &got);
	return object && got == type ? object : 0;
}

/* Constant since V8 has such strings. */

/* These have been so since V8 had such strings. */
#define NO_STRING     128 /* types from here on are other objects */
#define SHAPE_MASK    7
#define SHAPE_FLAT    0
#define SHAPE_PAIR    1
#define SHAPE_OUTSIDE 2
#define SHAPE_PART    3
#define SHAPE_ALIAS   5
#define ONE_BYTE      8
#define UNCACHED      16 /* an external string without the address of its characters */

#define STRING_LENGTH 12
#define STRING_FIRST  16 /* its characters, or its parts */
#define STRING_SECOND 24

bool v8_flat(const struct v8 *v8, struct v8_work *work, uintptr_t value, struct v8_flat *flat)
{
	uintptr_t from = 0, string, second;
	uint32_t length = 0, at_first;
	bool first = true;
	uint16_t type;

	for (int i = 0; i < 4; i++) {
		string = v8_object(v8, work, value, &type);
		if (!string || type >= NO_STRING ||
		    !v8_copy(work, &at_first, string + STRING_LENGTH, sizeof(at_first)))
			return false;
		/* Length of the outermost string: parts are shorter. */
		if (first)
			length = at_first;
		first = false;
		flat->is_wide = !(type & ONE_BYTE);
		flat->length = length;
		switch (type & SHAPE_MASK) {
		case SHAPE_FLAT:
			flat->at = string + STRING_FIRST + (from << flat->is_wide);
			return length <= at_first;
		case SHAPE_OUTSIDE:
			if (type & UNCACHED ||
			    !v8_read_word(work, string + STRING_SECOND, &flat->at))
				return false;
			flat->at += from << flat->is_wide;
			return length <= at_first;
		case SHAPE_PART:
			if (!v8_read_word(work, string + STRING_SECOND, &second) ||
			    !v8_is_small_integer(second))
				return false;
			from += (uint32_t)v8_small_integer(second);
			break;
		case SHAPE_PAIR:
			/* A flattened string has all characters in its first half. */
			if (!v8_read_word(work, string + STRING_SECOND, &second))
				return false;
			second = v8_object(v8, work, second, &type);
			if (!second ||
			    !v8_copy(work, &at_first, second + STRING_LENGTH, sizeof(at_first)) ||
			    at_first)
				return false;
			break;
		case SHAPE_ALIAS:
			break;
		default:
			return false;
		}
		if (!v8_read_word(work, string + STRING_FIRST, &value))
			return false;
	}
	return false;
}

static size_t flat_append(struct v8_work *work, const struct v8_flat *flat, char *text, size_t used,
			  size_t size)
{
	uint8_t characters[64];
	size_t width = flat->is_wide ? 2 : 1, part;
	uint16_t c;

	for (size_t i = 0; i < flat->length; i += part) {
		part = flat->length - i;
		if (part > sizeof(characters) / width)
			part = sizeof(characters) / width;
		if (!v8_copy(work, characters, flat->at + i * width, part * width))
			break;
		for (size_t k = 0; k < part; k++) {
			if (used + 4 > size)
				return used;
			c = characters[k * width];
			if (flat->is_wide)
				c = (uint16_t)(c | characters[2 * k + 1] << 8);
			used += utf8_write(text + used, c ? c : '?');
		}
	}
	return used;
}

/* Nesting depth of cons strings that is followed. */
#define PAIRS_MAX 16

void v8_string(const struct v8 *v8, struct v8_work *work, uintptr_t value, char *text, size_t size)
{
	uintptr_t left[PAIRS_MAX], string;
	size_t used = 0, waiting = 0;
	struct v8_flat flat;
	uint16_t type;

	left[waiting++] = value;
	for (int i = 0; waiting && i < 4 * PAIRS_MAX; i++) {
		value = left[--waiting];
		if (v8_flat(v8, work, value, &flat)) {
			used = flat_append(work, &flat, text, used, size);
			continue;
		}
		string = v8_object(v8, work, value, &type);
		if (!string || type >= NO_STRING || (type & SHAPE_MASK) != SHAPE_PAIR ||
		    waiting + 2 > PAIRS_MAX ||
		    !v8_read_word(work, string + STRING_SECOND, &left[waiting]) ||
		    !v8_read_word(work, string + STRING_FIRST, &left[waiting + 1]))
			break;
		waiting += 2;
	}
	text[used] = '\0';
}
