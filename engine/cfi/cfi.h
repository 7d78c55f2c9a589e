/* Compiler of call frame information (.eh_frame) into tables that a signal handler can search.
 *
 * Programs have millions of code ranges but few distinct unwind rules. Each distinct rule is stored
 * once, in one array for the whole process. A row is four bytes: sixteen bits of address within its
 * 64 KiB region, and sixteen bits of rule index. */
#ifndef ENGINE_CFI_CFI_H
#define ENGINE_CFI_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/cfi/cfi_rules.h"
#include "engine/cfi/cfi_source.h"

/* The unwind table of one module. Offsets count from the start of its code. Row I is valid from its
 * address to that of row I + 1. One block of memory; release with free(). */
struct unwind_table {
	size_t bytes;
	uint32_t regions, rows;
	bool starts;          /* the rows are starts of functions, and have no rules */
	const uint8_t *begin; /* a bit for each row: a function starts there; NULL: unknown */
	const uint16_t *low;  /* low 16 bits of each row's offset */
	const uint16_t *rule; /* rule index of each row */
	uint32_t first[];     /* [regions + 1]: first row of each 64 KiB */
};

/* Compile SOURCE, which may be malformed in any way; invalid entries are skipped. Returns 0 and
 * sets *OUT, -ENOENT when there is no row at all, -ENOMEM, or -EFBIG. */
int cfi_compile(struct unwind_table **out, const struct cfi_source *source);

/* The number of the row for OFFSET from the start of the code, from 1 on; 0: none, or TABLE is damaged.
 * Async-signal-safe, as are the next two functions. They are in a header so that the handler's code
 * inlines them. */
static inline uint32_t unwind_table_row(const struct unwind_table *table, uint64_t offset)
{
	uint64_t region = offset >> 16;
	uint16_t low = (uint16_t)offset;
	uint32_t begin, end, middle;

	if (region >= table->regions)
		return 0;
	begin = table->first[region];
	end = table->first[region + 1];
	if (begin > end || end > table->rows)
		return 0;
	while (begin < end) {
		middle = begin + (end - begin) / 2;
		if (table->low[middle] <= low)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

/* The start of ROW, which contains OFFSET. (A row has only the low half of its offset; the region
 * gives the rest.) */
static inline uint64_t unwind_table_row_begin(const struct unwind_table *table, uint64_t offset,
					      uint32_t row)
{
	uint64_t region = offset >> 16;

	while (region && table->first[region] >= row)
		region--;
	return region << 16 | table->low[row - 1];
}

/* The rule index for OFFSET. */
static inline uint16_t unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
	uint32_t row = unwind_table_row(table, offset);

	return row ? table->rule[row - 1] : RULE_INDEX_NONE;
}

#endif
