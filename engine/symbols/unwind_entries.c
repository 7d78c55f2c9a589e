/* Function starts from .eh_frame_hdr, as the LSB documents it, in the one form that linkers write:
 * rows of two 32-bit offsets from the section's start, sorted by the start of the code. Static
 * programs may have only .eh_frame. */
#include "engine/symbols/unwind_entries.h"

#include <stdlib.h>
#include <string.h>

#include "engine/cfi/cfi_entry.h"

/* Encodings of pointers (DW_EH_PE_...): 32 bits, unsigned or signed, relative to the place or to
 * the section. */
enum { UDATA4 = 0x03, PCREL_SDATA4 = 0x1b, DATAREL_SDATA4 = 0x3b };

struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct row {
	int32_t start, entry; /* offsets from the section's start */
};

/* The first fields of an entry whose pointers have the usual encoding. */
struct entry {
	uint32_t length, common;
	int32_t start; /* offset from this field */
	uint32_t size;
};

struct rows {
	struct elf *elf;
	uint64_t address; /* of the section */
	uint32_t count;
};

static bool rows_open(struct rows *rows, struct elf *elf)
{
	const Elf64_Phdr *segment = elf_find_segment(elf, PT_GNU_EH_FRAME);
	struct header header;

	if (!segment || elf_read_address(elf, segment->p_vaddr, &header, sizeof(header)) ||
	    header.version != 1 || header.frame_encoding != PCREL_SDATA4 ||
	    header.count_encoding != UDATA4 || header.table_encoding != DATAREL_SDATA4)
		return false;
	*rows = (struct rows){ elf, segment->p_vaddr, header.count };
	return true;
}

/* Read the last row that starts at or before ADDRESS. */
static bool rows_find(const struct rows *rows, uint64_t address, struct row *found)
{
	uint32_t begin = 0, end = rows->count, middle;
	struct row row;

	while (begin < end) {
		middle = begin + (end - begin) / 2;
		if (elf_read_address(rows->elf,
				     rows->address + sizeof(struct header) +
					     (uint64_t)middle * sizeof(row),
				     &row, sizeof(row)))
			return false;
		if (rows->address + (uint64_t)(int64_t)row.start <= address) {
			*found = row;
			begin = middle + 1;
		} else {
			end = middle;
		}
	}
	return begin > 0;
}

struct function {
	uint64_t start, size;
};

/* Return the start of the function at ADDRESS, or 0. KNOWN is the last one found. An entry whose
 * start differs from its row's has another encoding. */
static uint64_t rows_function(const struct rows *rows, uint64_t address, struct function *known)
{
	uint64_t start, at;
	struct entry entry;
	struct row row;

	if (address - known->start < known->size)
		return known->start;
	if (!rows_find(rows, address, &row))
		return 0;
	start = rows->address + (uint64_t)(int64_t)row.start;
	at = rows->address + (uint64_t)(int64_t)row.entry;
	if (elf_read_address(rows->elf, at, &entry, sizeof(entry)) ||
	    at + offsetof(struct entry, start) + (uint64_t)(int64_t)entry.start != start ||
	    address - start >= entry.size)
		return 0;
	*known = (struct function){ start, entry.size };
	return start;
}

/* Larger sections are not read: a file without the header seldom has one. */
#define FRAME_BYTES_MAX ((uint64_t)16 << 20)

/* Set the start of those of MATCHES, sorted by address, that PLACE covers. */
static void place_match(const struct place *place, struct symbol_match *matches, size_t count)
{
	size_t begin = 0, end = count, middle;

	while (begin < end) {
		middle = begin + (end - begin) / 2;
		if (matches[middle].address < place->start)
			begin = middle + 1;
		else
			end = middle;
	}
	for (; begin < count && matches[begin].address - place->start < place->size; begin++)
		if (!matches[begin].found)
			matches[begin].start = place->start;
}

/* Match all entries of the section. */
static void frame_match(const struct cfi_source *frame, struct symbol_match *matches, size_t count)
{
	struct cie cie = { 0 };
	uint64_t offset = 0, id, id_offset;
	struct place place;
	struct cursor c;
	struct fde fde;
	struct run run;

	for (; entry_begin(frame, offset, &c, &id, &id_offset);
	     offset = (uint64_t)(c.end - frame->frame)) {
		if (!id || !fde_read(&fde, frame, offset))
			continue;
		if (!cie.code_align || cie.offset != fde.cie_offset)
			cie_read(&cie, frame, fde.cie_offset, &run);
		if (cie.valid && fde_begin(&fde, &cie, frame, &run, &place))
			place_match(&place, matches, count);
	}
}

static void section_match(struct elf *elf, struct symbol_match *matches, size_t count)
{
	const Elf64_Shdr *section = elf_find_section(elf, ".eh_frame");
	struct cfi_source frame = { 0 };
	uint8_t *bytes;

	if (!section || section->sh_size > FRAME_BYTES_MAX)
		return;
	bytes = malloc(section->sh_size);
	if (bytes && !elf_read_section(elf, section, 0, bytes, section->sh_size)) {
		frame.frame = bytes;
		frame.frame_size = section->sh_size;
		frame.frame_address = section->sh_addr;
		frame_match(&frame, matches, count);
	}
	free(bytes);
}

void unwind_entries_match(struct elf *elf, struct symbol_match *matches, size_t count)
{
	struct function known = { 0 };
	struct rows rows;

	if (!elf_find_segment(elf, PT_GNU_EH_FRAME)) {
		section_match(elf, matches, count);
		return;
	}
	if (!rows_open(&rows, elf))
		return;
	for (size_t i = 0; i < count; i++)
		if (!matches[i].found)
			matches[i].start = rows_function(&rows, matches[i].address, &known);
}
