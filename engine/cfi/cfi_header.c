/* Parser of .eh_frame_hdr, as the LSB documents it. */
#include "engine/cfi/cfi_header.h"

#include <errno.h>

bool cfi_header_searchable(const uint8_t head[CFI_HEADER_FIXED])
{
	/* The only form that linkers write; sorted by code address. */
	return head[0] == 1 && head[1] != PE_OMIT && head[2] != PE_OMIT &&
	       head[3] == (PE_DATAREL | 0x0b);
}

bool cfi_header_read(struct cfi_header *header, const struct cfi_source *source)
{
	struct cursor c = { .p = source->hdr, /* may be NULL */
			    .end = source->hdr ? source->hdr + source->hdr_size : NULL,
			    .address = source->hdr_address + source->hdr_size,
			    .reader = source->reader };
	uint8_t head[CFI_HEADER_FIXED] = { 0 };

	*header = (struct cfi_header){ 0 };
	cursor_copy(&c, head, sizeof(head));
	if (head[0] != 1 || head[1] == PE_OMIT)
		return false;
	header->frame = cursor_pointer(&c, head[1], source);
	if (c.bad)
		return false;
	header->encoding = head[3];
	if (cfi_header_searchable(head))
		header->count = cursor_pointer(&c, head[2], source);
	if (c.bad || header->count > (uint64_t)(c.end - c.p) / CFI_HEADER_ROW)
		header->count = 0;
	header->table = c;
	return true;
}

int cfi_frame_span(const struct cfi_source *source, uint64_t *begin, uint64_t *last)
{
	uint64_t address;
	struct cfi_header header;

	if (!cfi_header_read(&header, source))
		return -EINVAL;
	*begin = header.frame;
	*last = 0;
	for (uint64_t i = 0; i < header.count; i++) {
		cursor_bytes(&header.table, 4);
		address = cursor_pointer(&header.table, header.encoding, source);
		if (address > *last)
			*last = address;
	}
	return 0;
}
