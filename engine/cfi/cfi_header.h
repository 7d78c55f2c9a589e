/* Parser of .eh_frame_hdr: the address of .eh_frame, and a search table of its entries.
 * Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_HEADER_H
#define ENGINE_CFI_CFI_HEADER_H

#include "engine/cfi/cfi_cursor.h"

struct cfi_header {
	uint64_t frame;      /* link address of .eh_frame */
	uint64_t count;      /* rows of the table; 0 if it is missing, or in an unsupported form */
	struct cursor table; /* the first row */
	uint8_t encoding;    /* of both columns: start of the code, and its entry */
};

#define CFI_HEADER_ROW 8 /* bytes */

#define CFI_HEADER_FIXED 4 /* bytes: the version and the encodings */

/* True when a header that begins with HEAD has a supported search table. */
bool cfi_header_searchable(const uint8_t head[CFI_HEADER_FIXED]);

/* Returns false when there is no header. */
bool cfi_header_read(struct cfi_header *header, const struct cfi_source *source);

/* Read the start of .eh_frame from HDR, and the start of its last entry from the search table (0
 * without a table). Link addresses. Returns 0 or -EINVAL. */
int cfi_frame_span(const struct cfi_source *source, uint64_t *begin, uint64_t *last);

#endif
