/* Compiled code of V8: the code that contains an address, and the source positions of its instructions. */
#include <stdatomic.h>
#include <string.h>

#include "engine/runtime/v8/v8.h"

#include "arch/code.h"

/* ---- Code lookup ---- */

/* Instructions start at multiples of this, after a header that refers to the code's metadata. */
#define CODE_ALIGNMENT ((uintptr_t)64)

/* Longer code gets no lines. */
#define CODE_BYTES_MAX (64u << 10)

/* Positions that are checked in one walk. */
#define LOOKS_MAX 4096

/* Cached start of the code around an address, stored with the address, in CODE_ALIGNMENTs before
 * it. From NOWHERE on, no code was found, and the number above NOWHERE counts the uses of that
 * result. (Code may be generated there later; until then, the running function is still known.) */
#define NOWHERE 0x8000u

_Static_assert(CODE_BYTES_MAX / CODE_ALIGNMENT < NOWHERE, "an offset is below NOWHERE");

static _Atomic uint64_t *cached_begin(uintptr_t pc)
{
	return &v8_memory->begins[(pc * 0x9e3779b97f4a7c15u) >> (64 - V8_BEGIN_BITS)];
}

/* Whether code that contains PC starts at START; if so, fills in *CODE. */
static bool code_begins_at(const struct v8 *v8, struct v8_work *work, uintptr_t start, uintptr_t pc,
			   struct v8_code *code)
{
	const struct v8_layout *l = &v8->layout;
	uintptr_t header = start - l->stream_bytes, map, there;
	uint16_t type, wanted = l->instruction_stream ? l->instruction_stream : l->code;
	uint32_t flags;

	/* Most words of code are not references. */
	if (!v8_read_word(work, header, &map) || (map & 7) != 1 || map >> (ARCH_ADDRESS_BITS - 1))
		return false;
	if (!v8_copy(work, &type, map - 1 + l->map_instance_type, sizeof(type)) || type != wanted)
		return false;
	code->object = header;
	if (l->instruction_stream) {
		code->object = v8_field(v8, work, header + l->stream_code, l->code);
		if (!code->object || !v8_read_word(work, code->object + l->code_start, &there) ||
		    there != start)
			return false;
	}
	if (!v8_copy(work, &code->size, code->object + l->code_size, sizeof(code->size)) ||
	    !v8_copy(work, &flags, code->object + l->code_flags, sizeof(flags)) ||
	    pc - start >= code->size)
		return false;
	code->start = start;
	code->kind = (uint8_t)(flags & l->kind_mask);
	return true;
}

static bool code_search_begin(const struct v8 *v8, struct v8_work *work, uintptr_t pc,
			      struct v8_code *code)
{
	uintptr_t first = pc & ~(CODE_ALIGNMENT - 1), n;

	for (n = 0; n < CODE_BYTES_MAX / CODE_ALIGNMENT; n++) {
		if (work->looks++ >= LOOKS_MAX)
			return false;
		if (code_begins_at(v8, work, first - n * CODE_ALIGNMENT, pc, code))
			break;
	}
	if (n == CODE_BYTES_MAX / CODE_ALIGNMENT)
		n = NOWHERE;
	atomic_store_explicit(cached_begin(pc), (uint64_t)pc << 16 | n, memory_order_relaxed);
	return n != NOWHERE;
}

bool v8_code_at(const struct v8 *v8, struct v8_work *work, uintptr_t pc, struct v8_code *code)
{
	uint64_t word = atomic_load_explicit(cached_begin(pc), memory_order_relaxed);
	uintptr_t first = pc & ~(CODE_ALIGNMENT - 1), before = word & 0xffff;

	if (word >> 16 == pc) {
		if (before >= NOWHERE && before < 0xffff) {
			atomic_store_explicit(cached_begin(pc), word + 1, memory_order_relaxed);
			return false;
		}
		if (before < NOWHERE &&
		    code_begins_at(v8, work, first - before * CODE_ALIGNMENT, pc, code))
			return true;
	}
	return code_search_begin(v8, work, pc, code);
}

/* ---- Tables ---- */

/* Longer tables are not scanned. */
#define TABLE_MAX (64u << 10)

struct table {
	struct v8_work *work;
	uintptr_t at, end;
	uint8_t bytes[64];
	unsigned next, filled;
	bool bad;
};

static bool table_open(const struct v8 *v8, struct v8_work *work, uintptr_t field,
		       struct table *table)
{
	const struct v8_layout *l = &v8->layout;
	uintptr_t value, object, length;
	uint16_t type;

	if (!v8_read_word(work, field, &value))
		return false;
	object = v8_object(v8, work, value, &type);
	if (!object || (type != l->byte_array && type != l->trusted_byte_array) ||
	    !v8_read_word(work, object + 8, &length) || !v8_is_small_integer(length) ||
	    v8_small_integer(length) <= 0 || (uint32_t)v8_small_integer(length) > TABLE_MAX)
		return false;
	*table = (struct table){ .work = work, .at = object + 16 };
	table->end = table->at + (uintptr_t)v8_small_integer(length);
	return true;
}

static bool table_has_more(const struct table *table)
{
	return !table->bad && (table->next < table->filled || table->at < table->end);
}

static uint8_t table_next_byte(struct table *table)
{
	uintptr_t left = table->end - table->at;

	if (table->next == table->filled) {
		table->filled = left < sizeof(table->bytes) ? (unsigned)left : sizeof(table->bytes);
		table->next = 0;
		if (!table->filled ||
		    !v8_copy(table->work, table->bytes, table->at, table->filled)) {
			table->bad = true;
			table->filled = 0;
			return 0;
		}
		table->at += table->filled;
	}
	return table->bytes[table->next++];
}

static uint64_t table_next_number(struct table *table)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		byte = table_next_byte(table);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static int64_t table_next_signed(struct table *table)
{
	uint64_t value = table_next_number(table);

	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* A position in one word: a bit for "not in a script", 30 bits of position, 16 bits for the inlining. */
static struct v8_position position_unpack(uint64_t word)
{
	if (word & 1)
		return (struct v8_position){ .offset = -1 };
	return (struct v8_position){ .offset = (int32_t)(word >> 1 & 0x3fffffff) - 1,
				     .inlined = (uint32_t)(word >> 31 & 0xffff) };
}

/* Entries of a table, in the order of the code. */
struct entries {
	struct table table;
	int64_t at; /* of the current entry */
	uint64_t position;
};

static bool entries_next(struct entries *entries)
{
	int64_t difference;

	if (!table_has_more(&entries->table))
		return false;
	difference = table_next_signed(&entries->table);
	/* The sign distinguishes statements from expressions. */
	entries->at += difference >= 0 ? difference : -(difference + 1);
	entries->position += (uint64_t)table_next_signed(&entries->table);
	return !entries->table.bad;
}

struct v8_position v8_position_at(const struct v8 *v8, struct v8_work *work, uintptr_t field,
				  uint32_t offset)
{
	struct v8_position none = { .offset = -1 };
	struct entries entries = { .at = -1 };
	uint64_t position = 0;
	bool any = false;

	if (!table_open(v8, work, field, &entries.table))
		return none;
	while (entries_next(&entries) && entries.at <= (int64_t)offset) {
		position = entries.position;
		any = true;
	}
	return any && !entries.table.bad ? position_unpack(position) : none;
}

/* Bytes between two entries that are searched for a call, and number of such searches. */
#define GAP_MAX  16
#define GAPS_MAX 32

/* True if the code from FROM up to TO, offsets in CODE, has no call. */
static bool code_has_no_call(struct v8_work *work, const struct v8_code *code, int64_t from,
			     int64_t to)
{
	uint8_t bytes[GAP_MAX];
	size_t length = (size_t)(to - from);

	if (to <= from || to - from > GAP_MAX ||
	    !v8_copy(work, bytes, code->start + (uintptr_t)from, length))
		return false;
	for (size_t i = 1; i <= length; i++)
		if (arch_is_behind_call(bytes + i, i))
			return false;
	return true;
}

struct v8_position v8_instruction_position(const struct v8 *v8, struct v8_work *work,
					   const struct v8_code *code, uint32_t offset)
{
	struct v8_position none = { .offset = -1 };
	struct entries entries = { .at = -1 };
	unsigned gaps = 0;
	bool any = false, detailed = false;
	uint64_t position = 0;
	int64_t before = -1;

	if (!table_open(v8, work, code->object + v8->layout.code_positions, &entries.table))
		return none;
	while (entries_next(&entries) && !(detailed && entries.at > (int64_t)offset)) {
		if (entries.at <= (int64_t)offset) {
			position = entries.position;
			any = true;
		}
		if (!detailed && before >= 0 && gaps++ < GAPS_MAX)
			detailed = code_has_no_call(work, code, before, entries.at);
		before = entries.at;
	}
	return any && detailed && !entries.table.bad ? position_unpack(position) : none;
}

/* ---- Baseline ---- */

/* Length of each bytecode of V8 13.6, which does not export it, and the number of operands that a
 * prefix widens (src/interpreter/bytecodes.h): two digits and a space for each. */
#define LENGTHS_VERSION 0x0d06

static const char lengths[] = "10 10 10 10 10 21 32 43 54 52 63 21 10 21 10 10 10 10 10 21 "
			      "43 43 43 21 21 21 21 32 21 21 21 10 10 10 20 32 32 32 43 21 "
			      "43 21 21 43 43 43 21 43 43 43 31 43 43 32 54 32 32 43 43 43 "
			      "53 43 53 32 32 32 32 32 32 32 32 32 32 32 32 32 32 32 32 32 "
			      "32 32 32 32 32 32 32 21 21 21 21 10 10 21 21 21 21 43 54 54 "
			      "43 54 65 54 32 43 54 54 52 63 42 42 54 54 32 32 32 32 32 32 "
			      "32 32 32 10 21 21 21 10 10 52 42 10 21 42 10 42 32 42 21 32 "
			      "32 32 32 10 10 10 43 21 21 21 21 21 21 21 21 21 21 43 21 21 "
			      "21 21 21 21 21 21 21 21 21 21 43 43 21 32 54 21 10 10 10 10 "
			      "21 10 10 21 43 54 43 43 10 21 21 10 10 10 10 10 10 10 10 10 "
			      "10 10 10 10 10 10 10 10 ";

static uint32_t length_by_table(const struct v8 *v8, uint32_t bytecode, uint32_t row)
{
	size_t at = (size_t)bytecode * 3;

	if (v8->layout.version != LENGTHS_VERSION || at >= sizeof(lengths) - 1)
		return 0;
	return (uint32_t)(lengths[at] - '0') +
	       (uint32_t)(lengths[at + 1] - '0') * (row == 2 ? 3 : row);
}

/* The first four are prefixes: they double or quadruple the width of the operands. */
static uint32_t bytecode_length(const struct v8 *v8, struct v8_work *work, uintptr_t at)
{
	uint32_t row = 0, prefix = 0;
	uint8_t bytes[2], length = 0;

	if (!v8_copy(work, bytes, at, sizeof(bytes)))
		return 0;
	if (bytes[0] < 4) {
		row = bytes[0] % 2 ? 2 : 1;
		prefix = 1;
	}
	if (!v8->bytecode_sizes)
		length = (uint8_t)length_by_table(v8, bytes[prefix], row);
	else if (bytes[prefix] < v8->bytecodes)
		v8_copy(work, &length, v8->bytecode_sizes + row * v8->bytecodes + bytes[prefix], 1);
	return length ? prefix + length : 0;
}

int32_t v8_baseline_offset(const struct v8 *v8, struct v8_work *work, const struct v8_code *code,
			   uintptr_t array, uint32_t offset)
{
	uintptr_t length, instructions = array + v8->layout.bytecode_data;
	uint32_t at = 0, bytes;
	struct table table;
	uint64_t pc;

	if (!table_open(v8, work, code->object + v8->layout.code_positions, &table) ||
	    !v8_read_word(work, array + 8, &length) || !v8_is_small_integer(length))
		return -1;
	/* The code before the first bytecode. */
	pc = table_next_number(&table);
	if (pc > offset)
		return -1;
	while (table_has_more(&table)) {
		pc += table_next_number(&table);
		if (pc > offset)
			return (int32_t)at;
		bytes = bytecode_length(v8, work, instructions + at);
		if (!bytes || at + bytes >= (uint32_t)v8_small_integer(length))
			return (int32_t)at;
		at += bytes;
	}
	return -1;
}

/* ---- Inlined functions ---- */

/* The elements of an array follow its length. */
static bool array_element(struct v8_work *work, uintptr_t array, uint32_t index, uintptr_t *value)
{
	uintptr_t length;

	return v8_read_word(work, array + 8, &length) && v8_is_small_integer(length) &&
	       (int64_t)index < v8_small_integer(length) &&
	       v8_read_word(work, array + 16 + 8 * (uintptr_t)index, value);
}

static uintptr_t array_open(const struct v8 *v8, struct v8_work *work, uintptr_t value)
{
	const struct v8_layout *l = &v8->layout;
	uint16_t type;
	uintptr_t object = v8_object(v8, work, value, &type);

	return object && (type == l->fixed_array || type == l->trusted_fixed_array ||
			  type == l->protected_fixed_array || type == l->weak_fixed_array ||
			  type == l->trusted_weak_fixed_array)
		       ? object
		       : 0;
}

/* Tag of a weak reference. */
#define WEAK 2

bool v8_inlined(const struct v8 *v8, struct v8_work *work, const struct v8_code *code,
		uint32_t number, uintptr_t *shared, struct v8_position *caller)
{
	const struct v8_layout *l = &v8->layout;
	uintptr_t deopt, literals, positions, value, length;
	struct {
		uint64_t position;
		int32_t function;
	} entry;
	uint16_t type;

	if (!v8_read_word(work, code->object + l->code_deopt, &value))
		return false;
	deopt = array_open(v8, work, value);
	if (!deopt || !array_element(work, deopt, l->deopt_positions, &value))
		return false;
	positions = v8_object(v8, work, value, &type);
	if (!positions || (type != l->byte_array && type != l->trusted_byte_array) ||
	    !v8_read_word(work, positions + 8, &length) || !v8_is_small_integer(length) ||
	    (uint64_t)number * 16 > (uint64_t)v8_small_integer(length) ||
	    !v8_copy(work, &entry, positions + 16 + (uintptr_t)(number - 1) * 16, sizeof(entry)))
		return false;
	*caller = position_unpack(entry.position);
	*shared = 0;
	if (entry.function < 0)
		return true;
	if (!array_element(work, deopt, l->deopt_literals, &value))
		return false;
	literals = array_open(v8, work, value);
	if (!literals || !array_element(work, literals, (uint32_t)entry.function, &value))
		return false;
	value &= ~(uintptr_t)WEAK;
	*shared = v8_object(v8, work, value, &type);
	return *shared && type == l->shared_info;
}
