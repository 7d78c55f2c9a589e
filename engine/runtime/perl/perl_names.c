/* Names of Perl's subs, and files and lines of its statements. These objects are on the stack of
 * the calling thread; still, every read may fail. */
#include <string.h>

#include "core/text/utf8.h"
#include "engine/reading/words.h"
#include "engine/runtime/perl/perl.h"
#include "engine/runtime/script_text.h"

/* struct sv: a value of any type. */
#define VALUE_FIELDS 0 /* type-specific fields */
#define VALUE_FLAGS  12
#define VALUE_ARRAY  16
#define VALUE_BYTES  24
#define FLAGS_TYPE   0xff
#define FLAG_REST    0x02000000 /* SVf_OOK: a hash has auxiliary fields */

enum { TYPE_GLOB = 9, TYPE_HASH = 12, TYPE_SUB = 13, TYPE_FORMAT = 14 };

/* struct xpvcv. */
#define SUB_PACKAGE 32
#define SUB_GLOB    56 /* or its name */
#define SUB_FLAGS   92
#define SUB_BYTES   96
#define SUB_NAMED   0x8000 /* CVf_NAMED: it has a name instead of a glob */

/* struct xpvgv. */
#define GLOB_NAME    32
#define GLOB_PACKAGE 40
#define GLOB_BYTES   48

/* struct xpvhv, and struct xpvhv_aux. */
#define HASH_LAST   24
#define REST_NAME   0
#define REST_COUNT  28 /* number of names, if it has several: REST_NAME then refers to an array */
#define HASHES_LAST (1u << 24)

/* struct hek: a name. */
#define NAME_LENGTH 4
#define NAME_TEXT   8
#define NAME_MAX    1024
#define NAME_UTF8   1

/* struct cop. */
#define STATEMENT_TYPE  32
#define TYPE_BITS       0x1ff
#define STATEMENT_LINE  36
#define STATEMENT_FILE  48
#define STATEMENT_BYTES 56
#define NO_LINE         UINT32_MAX

bool perl_read(struct perl_work *work, void *data, uintptr_t address, size_t size)
{
	return memory_copies_read(&work->copies, data, address, size);
}

bool perl_read_word(struct perl_work *work, uintptr_t address, uintptr_t *word)
{
	return address % sizeof(*word) == 0 &&
	       memory_copies_read(&work->copies, word, address, sizeof(*word));
}

/* Read the value at ADDRESS. Returns its type, or -1 if there is none. */
static int read_value(struct perl_work *work, uintptr_t address, uint8_t value[VALUE_BYTES])
{
	if (address % sizeof(uintptr_t) || !perl_read(work, value, address, VALUE_BYTES) ||
	    word_at(value, VALUE_FIELDS) % sizeof(uintptr_t))
		return -1;
	return (int)(half_at(value, VALUE_FLAGS) & FLAGS_TYPE);
}

/* ---- Names ---- */

/* Write the name at ADDRESS to TEXT, cut to SIZE - 1 bytes. Returns its length; 0 if there is none. */
static size_t read_name(struct perl_work *work, uintptr_t address, char *text, size_t size)
{
	uint8_t head[NAME_TEXT], flags, part[32];
	size_t used = 0, length, count;

	if (address % sizeof(uint32_t) || !perl_read(work, head, address, sizeof(head)))
		return 0;
	length = half_at(head, NAME_LENGTH);
	if (!length || length > NAME_MAX ||
	    !perl_read(work, &flags, address + NAME_TEXT + length + 1, sizeof(flags)))
		return 0;
	for (size_t i = 0; i < length; i += count) {
		count = length - i < sizeof(part) ? length - i : sizeof(part);
		if (!perl_read(work, part, address + NAME_TEXT + i, count))
			return 0;
		for (size_t k = 0; k < count && used + 4 < size; k++) {
			if (flags & NAME_UTF8)
				text[used++] = (char)part[k];
			else
				used += utf8_write(text + used, part[k]);
		}
	}
	text[used] = '\0';
	script_text_clean(text, used);
	return strlen(text);
}

/* Same for the name of the package at ADDRESS. */
static size_t read_package(const struct perl *perl, struct perl_work *work, uintptr_t address,
			   char *text, size_t size)
{
	uint8_t value[VALUE_BYTES];
	uintptr_t rest, last, name;
	uint32_t count;

	if (read_value(work, address, value) != TYPE_HASH ||
	    !(half_at(value, VALUE_FLAGS) & FLAG_REST))
		return 0;
	rest = word_at(value, VALUE_FIELDS) + perl->layout.hash_rest;
	if (!perl->layout.hash_rest) {
		if (!perl_read_word(work, rest + HASH_LAST, &last) || last > HASHES_LAST)
			return 0;
		rest = word_at(value, VALUE_ARRAY) + (last + 1) * sizeof(uintptr_t);
	}
	if (!perl_read_word(work, rest + REST_NAME, &name) ||
	    !perl_read(work, &count, rest + REST_COUNT, sizeof(count)) ||
	    (count && !perl_read_word(work, name, &name)))
		return 0;
	return read_name(work, name, text, size);
}

bool perl_sub_name(const struct perl *perl, struct perl_work *work, uintptr_t address)
{
	uint8_t value[VALUE_BYTES], sub[SUB_BYTES], glob[GLOB_BYTES];
	int type = read_value(work, address, value);
	uintptr_t name, package;
	size_t used;

	if ((type != TYPE_SUB && type != TYPE_FORMAT) ||
	    !perl_read(work, sub, word_at(value, VALUE_FIELDS), sizeof(sub)))
		return false;
	name = word_at(sub, SUB_GLOB);
	package = word_at(sub, SUB_PACKAGE);
	if (!(half_at(sub, SUB_FLAGS) & SUB_NAMED)) {
		if (read_value(work, name, value) != TYPE_GLOB ||
		    !perl_read(work, glob, word_at(value, VALUE_FIELDS), sizeof(glob)))
			return false;
		name = word_at(glob, GLOB_NAME);
		package = word_at(glob, GLOB_PACKAGE);
	}
	used = read_package(perl, work, package, work->name, sizeof(work->name) / 2);
	if (used) {
		work->name[used++] = ':';
		work->name[used++] = ':';
	}
	return read_name(work, name, work->name + used, sizeof(work->name) - used) != 0;
}

/* ---- Statements ---- */

/* Upper limit of the size of an interpreter. */
#define OWN_BYTES 8192

bool perl_is_compiling(const struct perl *perl, uintptr_t own, uintptr_t address)
{
	return own ? address - own < OWN_BYTES : address == perl->compiling;
}

bool perl_statement(const struct perl *perl, struct perl_work *work, uintptr_t own,
		    uintptr_t address, struct perl_statement *statement)
{
	uint8_t bytes[STATEMENT_BYTES];
	uint32_t type;

	if (address % sizeof(uintptr_t) || !perl_read(work, bytes, address, sizeof(bytes)))
		return false;
	type = half_at(bytes, STATEMENT_TYPE) & TYPE_BITS;
	if (type != perl->layout.statement && type != perl->layout.statement_debugged &&
	    !perl_is_compiling(perl, own, address))
		return false;
	statement->line = half_at(bytes, STATEMENT_LINE);
	if (statement->line == NO_LINE)
		statement->line = 0;
	statement->file = word_at(bytes, STATEMENT_FILE);
	return true;
}

/* Write the string at ADDRESS to WORK's file. */
static bool read_path(struct perl_work *work, uintptr_t address)
{
	size_t used = 0, part;

	while (used + 1 < sizeof(work->file)) {
		/* Read only to the next multiple of 32 bytes, which is certain to be mapped. */
		part = 32 - address % 32;
		if (part > sizeof(work->file) - 1 - used)
			part = sizeof(work->file) - 1 - used;
		if (!perl_read(work, work->file + used, address, part))
			return false;
		if (memchr(work->file + used, '\0', part))
			break;
		used += part;
		address += part;
	}
	work->file[sizeof(work->file) - 1] = '\0';
	work->file_is_text = script_text_clean(work->file, strlen(work->file));
	return work->file[0];
}

bool perl_file_name(const struct perl *perl, struct perl_work *work,
		    const struct perl_statement *statement)
{
	uint8_t value[VALUE_BYTES];
	uintptr_t name;
	size_t length;

	if (perl->key)
		return read_path(work, statement->file);
	/* Without threads it is a glob, whose name starts with "_<". */
	if (read_value(work, statement->file, value) != TYPE_GLOB ||
	    !perl_read_word(work, word_at(value, VALUE_FIELDS) + GLOB_NAME, &name))
		return false;
	length = read_name(work, name, work->file, sizeof(work->file));
	if (length <= 2)
		return false;
	memmove(work->file, work->file + 2, length - 1);
	work->file_is_text = true;
	return true;
}
