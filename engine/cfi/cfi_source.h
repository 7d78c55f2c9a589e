/* The unwind sections of a module. */
#ifndef ENGINE_CFI_CFI_SOURCE_H
#define ENGINE_CFI_CFI_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct memory_reader;

/* Copies of a module's sections, with their link addresses. If both addresses are the same, the
 * loaded sections themselves. */
struct cfi_source {
	const uint8_t *hdr; /* .eh_frame_hdr; the search table is optional */
	size_t hdr_size;
	uint64_t hdr_address;
	const uint8_t *frame; /* .eh_frame, or its readable part */
	size_t frame_size;
	uint64_t frame_address;
	uint64_t text_start, text_end; /* code to compile for */
	uint64_t bias;                 /* 0 unless the copies were relocated */
	uint64_t outermost; /* code without a caller, whatever its unwind information says; or 0 */
	struct memory_reader
		*reader; /* for sections that may be unmapped; NULL: they stay mapped */
};

#endif
