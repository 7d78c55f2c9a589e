/* Function starts from symbols and calls, and rules if the code can be followed. */
#include "engine/modules/function_starts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "engine/elf/elf.h"
#include "engine/modules/code_rules.h"

/* No C library has more code. */
#define CODE_MAX ((size_t)64 << 20)

/* Bytes that arch_call_target() reads. */
#define CALL_BYTES 6

#define SYMBOLS_AT_ONCE 256

struct starts {
	size_t bytes;
	uint8_t *marked; /* one bit per byte of the code */
	/* Only for processors whose code can be followed, else NULL: per instruction, a bit for
	 * function starts, and a rule. */
	uint8_t *begins;
	uint16_t *rules;
};

static void starts_mark(struct starts *starts, uint64_t offset)
{
	if (offset < starts->bytes)
		starts->marked[offset / 8] |= (uint8_t)(1u << offset % 8);
}

static bool starts_is_marked(const struct starts *starts, size_t offset)
{
	return starts->marked[offset / 8] >> offset % 8 & 1;
}

static void *map_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Bytes that look like a call but are none seldom have a target in the same code. */
static void starts_mark_called(struct starts *starts, const uint8_t *code)
{
	struct arch_target target;

	for (size_t at = CALL_BYTES; at <= starts->bytes; at++)
		if (arch_call_target(&target, code + at, at, CALL_BYTES) && !target.indirect)
			starts_mark(starts, target.address);
}

static void starts_mark_symbols(struct starts *starts, struct elf *elf, uint32_t type,
				uint64_t begin)
{
	const Elf64_Shdr *section = elf_find_section_type(elf, type);
	Elf64_Sym symbols[SYMBOLS_AT_ONCE];
	size_t count = section ? section->sh_size / sizeof(*symbols) : 0, n;

	for (size_t at = 0; at < count; at += n) {
		n = count - at < SYMBOLS_AT_ONCE ? count - at : SYMBOLS_AT_ONCE;
		if (elf_read_section(elf, section, at * sizeof(*symbols), symbols,
				     n * sizeof(*symbols)))
			return;
		for (size_t i = 0; i < n; i++)
			if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
			    symbols[i].st_shndx != SHN_UNDEF)
				starts_mark(starts, symbols[i].st_value - begin);
	}
}

/* A row may begin at the last byte of an instruction, see starts_mark_rules(). */
static uint16_t rule_at(const struct starts *starts, size_t offset)
{
	return starts->rules ? starts->rules[(offset + 1) / sizeof(uint32_t)] : RULE_INDEX_NONE;
}

static bool starts_begins_at(const struct starts *starts, size_t offset)
{
	size_t at = offset / sizeof(uint32_t);

	return !starts->rules ||
	       (offset % sizeof(uint32_t) == 0 && starts->begins[at / 8] >> at % 8 & 1);
}

static struct unwind_table *starts_make_table(const struct starts *starts)
{
	uint32_t regions = (uint32_t)((starts->bytes >> 16) + 1), row = 0;
	size_t rows = 0, bytes;
	struct unwind_table *table;
	uint16_t *low, *rule;
	uint8_t *begin;

	for (size_t at = 0; at < starts->bytes; at++)
		rows += starts_is_marked(starts, at);
	bytes = sizeof(*table) + (regions + 1) * sizeof(table->first[0]) +
		rows * 2 * sizeof(uint16_t) + rows / 8 + 1;
	table = rows ? calloc(1, bytes) : NULL;
	if (!table)
		return NULL;
	low = (uint16_t *)&table->first[regions + 1];
	rule = low + rows;
	begin = (uint8_t *)(rule + rows);
	for (size_t at = 0; at < starts->bytes; at++) {
		if (!(at & 0xffff))
			table->first[at >> 16] = row;
		if (starts_is_marked(starts, at)) {
			rule[row] = rule_at(starts, at);
			if (starts_begins_at(starts, at))
				begin[row / 8] |= (uint8_t)(1u << row % 8);
			low[row++] = (uint16_t)at;
		}
	}
	/* (The last region is empty if the code ends at a region boundary.) */
	if (!(starts->bytes & 0xffff))
		table->first[regions - 1] = row;
	table->first[regions] = row;
	table->starts = !starts->rules;
	table->begin = begin;
	table->bytes = bytes;
	table->regions = regions;
	table->rows = row;
	table->low = low;
	table->rule = rule;
	return table;
}

/* Add a mark wherever the rule changes. A signal return trampoline is returned to, not called, so
 * it is looked up by the byte before it. */
static void starts_mark_rules(struct starts *starts)
{
	size_t count = starts->bytes / sizeof(uint32_t);

	memset(starts->marked, 0, starts->bytes / 8 + 1);
	for (size_t at = 0; at < count; at++) {
		bool signal = starts->rules[at] == RULE_INDEX_SIGNAL;

		if (!at || starts->rules[at] != starts->rules[at - 1] ||
		    starts->begins[at / 8] >> at % 8 & 1)
			starts_mark(starts, at * sizeof(uint32_t) - (at && signal));
	}
}

/* Convert the marks from one bit per byte to one bit per instruction. */
static uint8_t *starts_by_instruction(const struct starts *starts)
{
	size_t count = starts->bytes / sizeof(uint32_t);
	uint8_t *bits = calloc(count / 8 + 1, 1);

	for (size_t at = 0; bits && at < count; at++)
		if (starts_is_marked(starts, at * sizeof(uint32_t)))
			bits[at / 8] |= (uint8_t)(1u << at % 8);
	return bits;
}

/* If the code can be followed, find rules in addition to function starts. */
static void starts_find_rules(struct starts *starts, const uint8_t *code)
{
	size_t count = starts->bytes / sizeof(uint32_t);

	starts->begins = starts_by_instruction(starts);
	if (starts->begins)
		starts->rules = map_alloc((count + 1) * sizeof(*starts->rules));
	if (starts->rules) {
		code_rules_mark_called(starts->begins, (const uint32_t *)(const void *)code, count);
		code_rules_find(starts->rules, (const uint32_t *)(const void *)code, count,
				starts->begins);
		starts_mark_rules(starts);
	}
}

struct unwind_table *function_starts_compile(const struct image *image, uintptr_t start,
					     uintptr_t end)
{
	struct starts starts = { .bytes = end - start };
	struct unwind_table *table = NULL;
	struct elf *elf;
	uint8_t *code;

	if (end <= start || starts.bytes > CODE_MAX)
		return NULL;
	code = map_alloc(starts.bytes);
	starts.marked = map_alloc(starts.bytes / 8 + 1);
	if (code && starts.marked && !image_read(image, start - image->bias, code, starts.bytes)) {
		starts_mark_called(&starts, code);
		if (!image_elf(image, &elf)) {
			starts_mark_symbols(&starts, elf, SHT_DYNSYM, start - image->bias);
			starts_mark_symbols(&starts, elf, SHT_SYMTAB, start - image->bias);
			elf_close(elf);
		}
		if (ARCH_CODE_RULES)
			starts_find_rules(&starts, code);
		table = starts_make_table(&starts);
	}
	if (code)
		munmap(code, starts.bytes);
	if (starts.marked)
		munmap(starts.marked, starts.bytes / 8 + 1);
	free(starts.begins);
	if (starts.rules)
		munmap(starts.rules, (starts.bytes / sizeof(uint32_t) + 1) * sizeof(*starts.rules));
	return table;
}

uint64_t function_starts_find(const struct unwind_table *table, uint64_t offset)
{
	uint32_t row = table && table->begin ? unwind_table_row(table, offset) : 0;

	while (row && !(table->begin[(row - 1) / 8] >> (row - 1) % 8 & 1)) {
		offset = unwind_table_row_begin(table, offset, row);
		row--;
	}
	return row ? unwind_table_row_begin(table, offset, row) : UINT64_MAX;
}
