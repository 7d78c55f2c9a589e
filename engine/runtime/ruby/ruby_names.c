/* Content of Ruby objects: strings, paths of classes, names by number. An object may hold anything,
 * and every read may fail. */
#include <string.h>

#include "engine/runtime/ruby/ruby.h"
#include "engine/runtime/script_text.h"

bool ruby_copy(struct ruby_work *work, void *data, uintptr_t address, size_t size)
{
	return memory_copies_read(&work->copies, data, address, size);
}

bool ruby_read_word(struct ruby_work *work, uintptr_t address, uintptr_t *word)
{
	return address % sizeof(*word) == 0 && ruby_copy(work, word, address, sizeof(*word));
}

/* Numbers and similar immediates are values too. */
static bool is_object(uintptr_t value)
{
	return value > 64 && value % sizeof(uintptr_t) == 0;
}

uintptr_t ruby_flags(struct ruby_work *work, uintptr_t value)
{
	uintptr_t flags;

	return is_object(value) && ruby_read_word(work, value, &flags) ? flags : 0;
}

/* ---- Strings and arrays ---- */

#define ELSEWHERE     (1u << 13) /* the characters of a string are outside the object */
#define HERE          (1u << 13) /* the values of an array are inside the object */
#define LENGTH_SHIFT  14         /* of a string, in its flags */
#define LENGTH_MASK   31
#define OBJECT_LENGTH 16
#define STRING_BYTES  40

/* Longer strings are not names. */
#define STRING_MAX (1u << 20)

struct text {
	uintptr_t at;
	uint64_t length;
};

static bool string_locate(const struct ruby *ruby, struct ruby_work *work, uintptr_t value,
			  struct text *text)
{
	uint8_t object[STRING_BYTES];
	uintptr_t flags;

	if (!is_object(value) || !ruby_copy(work, object, value, sizeof(object)))
		return false;
	flags = word_at(object, 0);
	if ((flags & RUBY_TYPES) != RUBY_STRING)
		return false;
	if (flags & ELSEWHERE || ruby->layout.string_has_length)
		text->length = word_at(object, OBJECT_LENGTH);
	else
		text->length = flags >> LENGTH_SHIFT & LENGTH_MASK;
	if (flags & ELSEWHERE)
		text->at = word_at(object, OBJECT_LENGTH + 8);
	else
		text->at = value + (ruby->layout.string_has_length ? 24 : 16);
	return text->length <= STRING_MAX;
}

/* Turn a name into valid text: invalid, cut and control characters become '?'. */
static void text_clean(char *text, size_t length)
{
	size_t bytes;

	for (size_t i = 0; i < length; i += bytes) {
		bytes = script_text_character(text + i, length - i);
		if (bytes && bytes <= length - i && (uint8_t)text[i] >= 0x20 && text[i] != 0x7f)
			continue;
		text[i] = '?';
		bytes = 1;
	}
}

size_t ruby_string(const struct ruby *ruby, struct ruby_work *work, uintptr_t value, char *text,
		   size_t length, size_t size)
{
	struct text found;
	size_t bytes;

	text[length] = '\0';
	if (!string_locate(ruby, work, value, &found))
		return length;
	bytes = found.length < size - 1 - length ? (size_t)found.length : size - 1 - length;
	if (!ruby_copy(work, text + length, found.at, bytes)) {
		text[length] = '\0';
		return length;
	}
	text_clean(text + length, bytes);
	text[length + bytes] = '\0';
	return length + bytes;
}

/* Value number AT of an array. */
static bool array_element(struct ruby_work *work, uintptr_t array, uint64_t at, uintptr_t *value)
{
	uintptr_t flags = ruby_flags(work, array), length, values = array + OBJECT_LENGTH;

	if ((flags & RUBY_TYPES) != RUBY_ARRAY)
		return false;
	if (flags & HERE)
		return at < 3 && ruby_read_word(work, values + at * sizeof(*value), value);
	return ruby_read_word(work, array + OBJECT_LENGTH, &length) && at < length &&
	       ruby_read_word(work, array + OBJECT_LENGTH + 16, &values) &&
	       ruby_read_word(work, values + at * sizeof(*value), value);
}

uintptr_t ruby_first(struct ruby_work *work, uintptr_t array)
{
	uintptr_t value;

	return array_element(work, array, 0, &value) ? value : 0;
}

/* ---- Fingerprints ---- */

static uint64_t *work_note(struct ruby_work *work, uintptr_t value, bool *known)
{
	size_t at = (value >> 3) % RUBY_NOTES;

	*known = work->notes[at].value == value;
	work->notes[at].value = value;
	return &work->notes[at].fingerprint;
}

static uint64_t text_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value)
{
	uint64_t fingerprint = 1, word;
	struct text text;
	size_t bytes;

	if (!string_locate(ruby, work, value, &text))
		return 0;
	fingerprint = script_text_mix(fingerprint, text.length);
	/* Only the part that can be displayed. */
	if (text.length > FRAME_FILE_MAX)
		text.length = FRAME_FILE_MAX;
	for (uint64_t i = 0; i < text.length; i += sizeof(word)) {
		word = 0;
		bytes = text.length - i < sizeof(word) ? (size_t)(text.length - i) : sizeof(word);
		if (!ruby_copy(work, &word, text.at + i, bytes))
			return 0;
		fingerprint = script_text_mix(fingerprint, word);
	}
	return fingerprint ? fingerprint : 1;
}

uint64_t ruby_string_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value)
{
	bool known;
	uint64_t *fingerprint = work_note(work, value, &known);

	if (!known)
		*fingerprint = text_fingerprint(ruby, work, value);
	return *fingerprint;
}

/* ---- Classes ---- */

#define OBJECT_CLASS    8
#define CLASS_EXTENSION 24 /* if that is a pointer */

/* The extension, in the versions that have it. */
#define EXTENSION_PLACES   0
#define EXTENSION_TABLE    8
#define EXTENSION_ATTACHED 96
#define EXTENSION_PATH     120

/* struct st_table and its entries: a hash, a key, a value. */
#define TABLE_BEGIN   32
#define TABLE_END     40
#define TABLE_ENTRIES 48
#define ENTRY_BYTES   24
#define ENTRY_KEY     8
#define ENTRY_VALUE   16
#define ENTRIES_MAX   64

/* The low bits of a name's number hold its kind. */
#define SCOPE_SHIFT 4

static bool find_in_table(struct ruby_work *work, uintptr_t table, uint32_t serial,
			  uintptr_t *value)
{
	uintptr_t begin, end, entries, key;

	if (!ruby_read_word(work, table + TABLE_BEGIN, &begin) ||
	    !ruby_read_word(work, table + TABLE_END, &end) ||
	    !ruby_read_word(work, table + TABLE_ENTRIES, &entries))
		return false;
	for (uintptr_t i = begin; i < end && i - begin < ENTRIES_MAX; i++)
		if (!ruby_read_word(work, entries + i * ENTRY_BYTES + ENTRY_KEY, &key))
			return false;
		else if (key >> SCOPE_SHIFT == serial)
			return ruby_read_word(work, entries + i * ENTRY_BYTES + ENTRY_VALUE, value);
	return false;
}

/* Shapes: each adds one variable to its parent. */
#define SHAPE_BYTES            32
#define SHAPE_NAME             8
#define SHAPE_COUNT            16
#define SHAPE_TYPE             24
#define SHAPE_PARENT           28
#define SHAPE_OF_OBJECT(flags) ((flags) >> 32)
#define SHAPE_IS_VARIABLE      1
#define SHAPES_MAX             64

static bool find_by_shape(const struct ruby *ruby, struct ruby_work *work, uintptr_t flags,
			  uintptr_t places, uint32_t serial, uintptr_t *value)
{
	uintptr_t machine, shapes, id = SHAPE_OF_OBJECT(flags);
	uint8_t shape[SHAPE_BYTES];
	uint32_t count, parent;

	if (!ruby->machine || !ruby_read_word(work, ruby->machine, &machine) ||
	    !ruby_read_word(work, machine + ruby->layout.machine_shapes, &shapes))
		return false;
	for (int i = 0; i < SHAPES_MAX && id < UINT32_MAX; i++) {
		if (!ruby_copy(work, shape, shapes + id * SHAPE_BYTES, sizeof(shape)))
			return false;
		memcpy(&count, shape + SHAPE_COUNT, sizeof(count));
		if (word_at(shape, SHAPE_NAME) >> SCOPE_SHIFT == serial &&
		    shape[SHAPE_TYPE] == SHAPE_IS_VARIABLE && count)
			return ruby_read_word(work, places + (count - 1) * sizeof(*value), value);
		memcpy(&parent, shape + SHAPE_PARENT, sizeof(parent));
		id = parent;
	}
	return false;
}

/* Find the path of CLASS, which has FLAGS, or the object that it is the singleton class of. */
static bool find_in_class(const struct ruby *ruby, struct ruby_work *work, uintptr_t class,
			  uintptr_t flags, bool attached, uintptr_t *value)
{
	const struct ruby_layout *l = &ruby->layout;
	uint32_t serial = attached ? ruby->attached_serial : ruby->path_serial;
	uintptr_t extension = class + l->class_extension, at;

	if (!l->class_extension && !ruby_read_word(work, class + CLASS_EXTENSION, &extension))
		return false;
	switch (l->class) {
	case RUBY_CLASS_FIELD:
		return ruby_read_word(
			work, extension + (attached ? EXTENSION_ATTACHED : EXTENSION_PATH), value);
	case RUBY_CLASS_TABLE:
		return serial && ruby_read_word(work, extension + EXTENSION_TABLE, &at) &&
		       find_in_table(work, at, serial, value);
	case RUBY_CLASS_SHAPES:
		return serial && ruby_read_word(work, extension + EXTENSION_PLACES, &at) &&
		       find_by_shape(ruby, work, flags, at, serial, value);
	}
	return false;
}

/* Path of CLASS, a string; 0 if it has none. *SINGLE: CLASS is a singleton class, and the path is
 * that of its object. */
static uintptr_t class_path(const struct ruby *ruby, struct ruby_work *work, uintptr_t class,
			    bool *single)
{
	uintptr_t flags = ruby_flags(work, class), type = flags & RUBY_TYPES, value;

	*single = false;
	if (type == RUBY_INCLUDED) {
		if (!ruby_read_word(work, class + OBJECT_CLASS, &class))
			return 0;
		flags = ruby_flags(work, class);
		type = flags & RUBY_TYPES;
	}
	if (type == RUBY_CLASS && flags >> ruby->layout.singleton & 1) {
		*single = true;
		if (!find_in_class(ruby, work, class, flags, true, &value))
			return 0;
		class = value;
		flags = ruby_flags(work, class);
		type = flags & RUBY_TYPES;
	}
	if ((type != RUBY_CLASS && type != RUBY_MODULE) ||
	    !find_in_class(ruby, work, class, flags, false, &value))
		return 0;
	return value;
}

/* A temporary path contains the address of the class. */
static bool is_lasting(const struct ruby *ruby, struct ruby_work *work, uintptr_t path)
{
	struct text text;
	char first;

	return path && string_locate(ruby, work, path, &text) && text.length &&
	       ruby_copy(work, &first, text.at, 1) && first != '#';
}

uint64_t ruby_class_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value)
{
	uintptr_t path;
	bool known, single;
	uint64_t *fingerprint = work_note(work, value, &known), found;

	if (known)
		return *fingerprint;
	path = class_path(ruby, work, value, &single);
	found = is_lasting(ruby, work, path) ? text_fingerprint(ruby, work, path) + single : 0;
	*fingerprint = found;
	return found;
}

size_t ruby_class(const struct ruby *ruby, struct ruby_work *work, uintptr_t class, char *text,
		  size_t length, size_t size)
{
	bool single;
	uintptr_t path = class_path(ruby, work, class, &single);
	size_t end;

	if (!is_lasting(ruby, work, path))
		return length;
	end = ruby_string(ruby, work, path, text, length, size);
	if (end == length || end + 1 >= size)
		return end;
	text[end] = single ? '.' : '#';
	text[end + 1] = '\0';
	return end + 1;
}

/* ---- Names by number ---- */

/* Names are in arrays of this many; each has two values there. */
#define NAMES_AT_ONCE 512

uintptr_t ruby_name(const struct ruby *ruby, struct ruby_work *work, uintptr_t id)
{
	uint64_t serial = id > ruby->layout.last_operator ? id >> SCOPE_SHIFT : id;
	uintptr_t arrays, array, name;

	if (!ruby->names || !ruby_read_word(work, ruby->names, &arrays) ||
	    !array_element(work, arrays, serial / NAMES_AT_ONCE, &array) ||
	    !array_element(work, array, serial % NAMES_AT_ONCE * 2, &name))
		return 0;
	return name;
}
