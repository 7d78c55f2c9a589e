/* The unwind sections of a module, as they are read. */
#ifndef ENGINE_CFI_CFI_SOURCE_H
#define ENGINE_CFI_CFI_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct memory_reader;

/* Copies of a module's sections, with their link addresses; or, with both the same, the sections
 * where they are loaded. */
struct cfi_source {
	const uint8_t *hdr; /* .eh_frame_hdr; its search table may be missing */
	size_t hdr_size;
	uint64_t hdr_address;
	const uint8_t *frame; /* .eh_frame, or as much of it as could be read */
	size_t frame_size;
	uint64_t frame_address;
	uint64_t text_start, text_end; /* code to compile for */
	uint64_t bias;                 /* 0 unless the copies were relocated */
	uint64_t outermost;            /* code that nobody called, whatever is said of it; or 0 */
	struct memory_reader *reader;  /* of sections that may go; NULL: they stay */
};

#endif
