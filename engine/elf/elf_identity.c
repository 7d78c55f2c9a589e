/* Build-id, debug link and checksum of an ELF file. */
#include "engine/elf/elf_identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/elf/build_id.h"

/* A note is a name, an id and padding; a segment of notes is seldom larger than a page. */
#define NOTES_MAX 65536

/* Bytes that one read returns for the checksum. */
#define BLOCK_BYTES 24576

/* If BY_ADDRESS, AT is a link address, as in an image; else it is a file offset. */
static int read_build_id(struct elf *elf, bool by_address, uint64_t at, uint64_t size,
			 uint8_t id[ELF_BUILD_ID_MAX])
{
	uint8_t *notes;
	size_t offset;
	int n;

	if (!size || size > NOTES_MAX)
		return -ENOENT;
	notes = malloc((size_t)size);
	if (!notes)
		return -ENOMEM;
	n = by_address ? elf_read_address(elf, at, notes, (size_t)size)
		       : elf_read(elf, at, notes, (size_t)size);
	if (!n) {
		n = (int)build_id_find(notes, (size_t)size, ELF_BUILD_ID_MAX, &offset);
		if (n)
			memcpy(id, notes + offset, (size_t)n);
	}
	free(notes);
	return n ? n : -ENOENT;
}

int elf_build_id(struct elf *elf, uint8_t id[ELF_BUILD_ID_MAX])
{
	bool image = elf_is_image(elf);
	int n;

	for (size_t i = 0; i < elf_segment_count(elf); i++) {
		const Elf64_Phdr *segment = elf_segment(elf, i);

		if (segment->p_type != PT_NOTE)
			continue;
		n = read_build_id(elf, image, image ? segment->p_vaddr : segment->p_offset,
				  segment->p_filesz, id);
		if (n > 0)
			return n;
	}
	/* In a separate debug file the section remains, but the segment points at no data. */
	for (size_t i = 0; i < elf_section_count(elf); i++) {
		const Elf64_Shdr *section = elf_section(elf, i);

		if (section->sh_type != SHT_NOTE)
			continue;
		n = read_build_id(elf, false, section->sh_offset, section->sh_size, id);
		if (n > 0)
			return n;
	}
	return -ENOENT;
}

/* The section contains the name, its NUL, padding to four bytes, and the checksum. */
int elf_debug_link(struct elf *elf, char name[ELF_NAME_MAX], uint32_t *crc)
{
	const Elf64_Shdr *section = elf_find_section(elf, ".gnu_debuglink");
	size_t at;
	int length;

	if (!section)
		return -ENOENT;
	length = elf_string(elf, section, 0, name, ELF_NAME_MAX);
	if (length < 0)
		return length;
	/* A name with a slash would point outside the searched directories. */
	if (!length || length == ELF_NAME_MAX - 1 || strchr(name, '/'))
		return -ENOEXEC;
	at = ((size_t)length + 1 + 3) & ~(size_t)3;
	return elf_read_section(elf, section, at, crc, sizeof(*crc));
}

int elf_crc32(struct elf *elf, uint32_t *crc)
{
	uint8_t *block = malloc(BLOCK_BYTES);
	uint64_t size = elf_size(elf);
	uint32_t sum = 0;
	size_t n;
	int err = 0;

	if (!block)
		return -ENOMEM;
	for (uint64_t at = 0; at < size && !err; at += n) {
		n = size - at < BLOCK_BYTES ? (size_t)(size - at) : BLOCK_BYTES;
		err = elf_read(elf, at, block, n);
		if (!err)
			sum = (uint32_t)crc32(sum, block, (uInt)n);
	}
	free(block);
	if (!err)
		*crc = sum;
	return err;
}
