/* Names, file and lines of a code object. The object is on the stack of the calling thread, so it
 * is alive; still, every read may fail. */
#include <string.h>

#include "core/text/utf8.h"
#include "engine/reading/words.h"
#include "engine/runtime/python/python.h"

/* A longer line table belongs to a generated module. */
#define LINES_MAX (64u << 10)

/* ---- Strings ---- */

/* struct state of PyASCIIObject, which follows length and hash. */
#define STRING_LENGTH 16
#define STRING_STATE  32
#define STATE_KIND(s) ((s) >> 2 & 7)
#define STATE_COMPACT (1u << 5)
#define STATE_ASCII   (1u << 6)

static struct memory_reader code_reader(struct python_work *work)
{
	memory_block_init(&work->block);
	return (struct memory_reader){ .block = &work->block };
}

/* Write the string object at ADDRESS to TEXT, cut to SIZE - 1 bytes; "" if it cannot be read. */
static void read_string(const struct python_layout *layout, struct python_work *work,
			uintptr_t address, char *text, size_t size)
{
	struct memory_reader reader = code_reader(work);
	uint64_t length, used = 0;
	uint32_t state, kind, c;

	text[0] = '\0';
	if (!memory_read(&reader, &length, address + STRING_LENGTH, sizeof(length)) ||
	    !memory_read(&reader, &state, address + STRING_STATE, sizeof(state)))
		return;
	kind = STATE_KIND(state);
	if (!(state & STATE_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return;
	address += state & STATE_ASCII ? layout->ascii_bytes : layout->compact_bytes;
	for (uint64_t i = 0; i < length && used + 4 < size; i++, address += kind) {
		c = 0;
		if (!memory_read(&reader, &c, address, kind))
			break;
		used += utf8_write(text + used, c ? c : '?');
	}
	text[used] = '\0';
}

void python_code_names(const struct python_layout *layout, struct python_work *work,
		       const uint8_t view[PYTHON_CODE_BYTES])
{
	read_string(layout, work, word_at(view, layout->code_qualname), work->name,
		    sizeof(work->name));
	read_string(layout, work, word_at(view, layout->code_file), work->file, sizeof(work->file));
}

/* ---- Lines ---- */

struct lines {
	struct memory_reader reader;
	uintptr_t at, end;
	int64_t line;
	bool bad;
};

static uint8_t lines_next(struct lines *lines)
{
	uint8_t byte = 0;

	lines->bad |= lines->at >= lines->end ||
		      !memory_read(&lines->reader, &byte, lines->at, sizeof(byte));
	lines->at++;
	return byte;
}

static bool lines_has_more(const struct lines *lines)
{
	return !lines->bad && lines->at < lines->end;
}

/* Up to 3.9 (Objects/lnotab_notes.txt): pairs of the increments of offset and line. */
static int64_t line_by_steps(struct lines *lines, int64_t offset)
{
	int64_t at = 0, line = lines->line;

	while (lines_has_more(lines)) {
		at += lines_next(lines);
		if (at > offset)
			break;
		line += (int8_t)lines_next(lines);
	}
	return line;
}

/* 3.10: pairs of the length of a range and the difference of its line from the previous one; -128:
 * no line, the range belongs to the previous one. */
static int64_t line_by_ranges(struct lines *lines, int64_t offset)
{
	int64_t end = 0, line = lines->line;
	int8_t difference;

	while (lines_has_more(lines)) {
		end += lines_next(lines);
		difference = (int8_t)lines_next(lines);
		if (difference != -128)
			line += difference;
		if (end > offset)
			break;
	}
	return line;
}

static uint64_t varint(struct lines *lines)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 60; shift += 6) {
		byte = lines_next(lines);
		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int64_t signed_varint(struct lines *lines)
{
	uint64_t value = varint(lines);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Since 3.11 (Objects/locations.md): entries with a kind and a length in code units. */
enum {
	KIND_ONE_LINE = 10, /* up to 12: the line differs by 0 to 2 */
	KIND_NO_COLUMNS = 13,
	KIND_LONG,
	KIND_NONE, /* no line: belongs to the previous entry */
};

static int64_t line_by_entries(struct lines *lines, int64_t offset)
{
	int64_t end = 0, line = lines->line;
	uint8_t first, kind;

	while (lines_has_more(lines)) {
		first = lines_next(lines);
		kind = first >> 3 & 15;
		end += ((first & 7) + 1) * 2;
		if (kind == KIND_LONG) {
			line += signed_varint(lines);
			for (int i = 0; i < 3; i++)
				varint(lines);
		} else if (kind == KIND_NO_COLUMNS) {
			line += signed_varint(lines);
		} else if (kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS) {
			line += kind - KIND_ONE_LINE;
			lines->at += 2;
		} else if (kind != KIND_NONE) {
			lines->at += 1;
		}
		if (end > offset)
			break;
	}
	return line;
}

uint32_t python_code_line(const struct python_layout *layout, struct python_work *work,
			  const uint8_t view[PYTHON_CODE_BYTES], int64_t offset)
{
	uintptr_t table = word_at(view, layout->code_lines);
	struct lines lines = { .reader = code_reader(work) };
	int32_t first;
	uint64_t size;
	int64_t line;

	memcpy(&first, view + layout->code_first_line, sizeof(first));
	lines.line = first;
	/* Before the first instruction: the frame was only just created. */
	if (offset < 0 || !memory_read(&lines.reader, &size, table + 16, sizeof(size)) ||
	    size > LINES_MAX)
		return first > 0 ? (uint32_t)first : 0;
	lines.at = table + layout->bytes_bytes;
	lines.end = lines.at + size;
	line = layout->version >= 0x030b   ? line_by_entries(&lines, offset)
	       : layout->version == 0x030a ? line_by_ranges(&lines, offset)
					   : line_by_steps(&lines, offset);
	return !lines.bad && line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
