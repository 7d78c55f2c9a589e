/* .eh_frame_hdr, as the LSB documents it. */
#include "engine/cfi_header.h"

#include <errno.h>

bool cfi_header_searchable(const uint8_t head[CFI_HEADER_FIXED])
{
	/* The one form that linkers write; sorted by code address. */
	return head[0] == 1 && head[1] != PE_OMIT && head[2] != PE_OMIT &&
	       head[3] == (PE_DATAREL | 0x0b);
}

bool cfi_header_read(struct cfi_header *header, const struct cfi_source *source)
{
	struct cursor c = { .p = source->hdr,
			    .end = source->hdr + source->hdr_size,
			    .address = source->hdr_address + source->hdr_size };
	uint8_t frame_encoding, count_encoding;

	*header = (struct cfi_header){ 0 };
	if (source->hdr_size < 4 || cursor_u8(&c) != 1)
		return false;
	frame_encoding = cursor_u8(&c);
	count_encoding = cursor_u8(&c);
	header->encoding = cursor_u8(&c);
	if (frame_encoding == PE_OMIT)
		return false;
	header->frame = cursor_pointer(&c, frame_encoding, source);
	if (c.bad)
		return false;
	if (cfi_header_searchable(source->hdr))
		header->count = cursor_pointer(&c, count_encoding, source);
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
