/* Parser of .eh_frame entries, as the LSB documents them. */
#include "engine/cfi/cfi_entry.h"

#include "arch/arch.h"

/* Longer entries occur in no valid file, and would take a handler too long. */
#define LENGTH_MAX (256u << 10)

static struct cursor frame_cursor(const struct cfi_source *source, uint64_t offset)
{
	return (struct cursor){ .p = source->frame + offset,
				.end = source->frame + source->frame_size,
				.address = source->frame_address + source->frame_size,
				.reader = source->reader };
}

bool entry_begin(const struct cfi_source *source, uint64_t offset, struct cursor *c, uint64_t *id,
		 uint64_t *id_offset)
{
	uint64_t length;
	bool wide;

	if (offset >= source->frame_size)
		return false;
	*c = frame_cursor(source, offset);
	length = cursor_bytes(c, 4);
	wide = length == 0xffffffff;
	if (wide)
		length = cursor_bytes(c, 8);
	if (c->bad || !length || length > (uint64_t)(c->end - c->p) ||
	    (c->reader && length > LENGTH_MAX))
		return false;
	c->address -= (uint64_t)(c->end - c->p) - length;
	c->end = c->p + length;
	*id_offset = cursor_address(c) - source->frame_address;
	*id = cursor_bytes(c, wide ? 8 : 4);
	return !c->bad;
}

static void cie_augmentation(struct cie *cie, struct cursor *c, const char *letters,
			     const struct cfi_source *source)
{
	const uint8_t *end;
	uint64_t size;
	uint8_t encoding;

	if (*letters != 'z')
		return;
	cie->augmented = true;
	size = cursor_uleb(c);
	if (size > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return;
	}
	end = c->p + size;
	while (*++letters && !c->bad) {
		switch (*letters) {
		case 'R':
			cie->encoding = cursor_u8(c);
			break;
		case 'L':
			cursor_u8(c);
			break;
		case 'P':
			encoding = cursor_u8(c);
			cursor_pointer(c, encoding & (uint8_t)~PE_INDIRECT, source);
			break;
		case 'S':
			cie->signal = true;
			break;
		}
	}
	c->p = end;
}

/* Room for all defined letters. */
#define LETTERS_MAX 12

static bool cie_read_letters(struct cursor *c, char letters[LETTERS_MAX])
{
	for (size_t i = 0; i < LETTERS_MAX; i++) {
		letters[i] = (char)cursor_u8(c);
		if (!letters[i])
			return !c->bad && (!i || letters[0] == 'z');
	}
	return false;
}

void cie_read(struct cie *cie, const struct cfi_source *source, uint64_t offset, struct run *run)
{
	uint64_t id, id_offset, ra, advance;
	char letters[LETTERS_MAX];
	uint8_t version;

	*cie = (struct cie){ .offset = offset };
	*run = (struct run){ .cie = cie, .source = source };
	if (!entry_begin(source, offset, &run->c, &id, &id_offset) || id)
		return;
	version = cursor_u8(&run->c);
	if ((version != 1 && version != 3) || !cie_read_letters(&run->c, letters))
		return;
	cie->code_align = cursor_uleb(&run->c);
	cie->data_align = cursor_sleb(&run->c);
	ra = version == 1 ? cursor_u8(&run->c) : cursor_uleb(&run->c);
	cie_augmentation(cie, &run->c, letters, source);
	if (run->c.bad || ra != ARCH_RA)
		return;
	run_to_next_location(run, 0, &advance);
	cie->initial = run->state;
	cie->valid = !run->c.bad;
}

bool fde_read(struct fde *fde, const struct cfi_source *source, uint64_t offset)
{
	uint64_t id, id_offset;

	if (!entry_begin(source, offset, &fde->c, &id, &id_offset) || !id || id > id_offset)
		return false;
	fde->cie_offset = id_offset - id;
	return true;
}

bool fde_begin(const struct fde *fde, const struct cie *cie, const struct cfi_source *source,
	       struct run *run, struct place *place)
{
	run->c = fde->c;
	run->cie = cie;
	run->source = source;
	place->start = cursor_pointer(&run->c, cie->encoding, source);
	place->size = cursor_pointer(&run->c, cie->encoding & PE_FORM, NULL);
	if (cie->augmented)
		cursor_skip(&run->c, cursor_uleb(&run->c));
	run->state = cie->initial;
	run->depth = 0;
	run->outermost = source->outermost && place->start == source->outermost;
	return !run->c.bad;
}
