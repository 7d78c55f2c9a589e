/* engine/cfi/cfi: any bytes as .eh_frame_hdr and .eh_frame compile to a table in which any offset
 * can be looked up. The first byte is the length of the header's part of the input. */
#include <stdlib.h>
#include <string.h>

#include "engine/cfi/cfi.h"
#include "engine/cfi/cfi_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_source source = { .text_start = 0x1000, .text_end = 0x1000 + 0x30000 };
	struct unwind_table *table;
	uint64_t begin, last;
	uint8_t *copy;

	if (!size)
		return 0;
	/* Copies of the exact size, so that a read past the end is one past the block. */
	source.hdr_size = data[0] < size ? data[0] : 0;
	source.frame_size = size - 1 - source.hdr_size;
	source.hdr = copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	source.frame = copy + source.hdr_size;
	source.hdr_address = 0x40000;
	source.frame_address = source.hdr_address + source.hdr_size;
	cfi_frame_span(&source, &begin, &last);
	if (!cfi_compile(&table, &source)) {
		for (uint64_t offset = 0; offset < 0x31000; offset += 0x101)
			if (unwind_table_find(table, offset) >= cfi_rule_count())
				abort();
		free(table);
	}
	free(copy);
	return 0;
}
