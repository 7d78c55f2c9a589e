/* .eh_frame_hdr: where .eh_frame is, and a table to search it by. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_HEADER_H
#define ENGINE_CFI_CFI_HEADER_H

#include "engine/cfi/cfi_cursor.h"

struct cfi_header {
	uint64_t frame;      /* link address of .eh_frame */
	uint64_t count;      /* rows of the table; 0 where it is missing, or in a form not used */
	struct cursor table; /* the first row */
	uint8_t encoding;    /* of both columns: where code begins, and its entry */
};

#define CFI_HEADER_ROW 8 /* bytes */

#define CFI_HEADER_FIXED 4 /* bytes: its version and the encodings */

/* Whether a header that begins with HEAD has such a table. */
bool cfi_header_searchable(const uint8_t head[CFI_HEADER_FIXED]);

/* False when there is none. */
bool cfi_header_read(struct cfi_header *header, const struct cfi_source *source);

/* Read from HDR where .eh_frame begins and, from the search table, where its last entry does
 * (0 without a table). Link addresses. Returns 0 or -EINVAL. */
int cfi_frame_span(const struct cfi_source *source, uint64_t *begin, uint64_t *last);

#endif
