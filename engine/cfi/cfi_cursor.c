/* Bounds-checked reader of an unwind section's bytes. */
#include "engine/cfi/cfi_cursor.h"

uint64_t cursor_pointer(struct cursor *c, uint8_t encoding, const struct cfi_source *source)
{
	uint64_t at = cursor_address(c), value;

	switch (encoding & PE_FORM) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = cursor_bytes(c, 8);
		break;
	case 0x01:
		value = cursor_uleb(c);
		break;
	case 0x02:
		value = cursor_bytes(c, 2);
		break;
	case 0x03:
		value = cursor_bytes(c, 4);
		break;
	case 0x09:
		value = (uint64_t)cursor_sleb(c);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)cursor_bytes(c, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)cursor_bytes(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (encoding & PE_BASE) {
	case 0:
		return (encoding & PE_FORM) == 0 && value && source ? value - source->bias : value;
	case PE_PCREL:
		return at + value;
	case PE_DATAREL:
		return source ? source->hdr_address + value : value;
	default:
		c->bad = true; /* textrel, funcrel and aligned: linkers do not write them here */
		return 0;
	}
}
