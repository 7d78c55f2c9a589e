/* Reader for 64-bit ELF files that trusts none of their content. */
#include "engine/elf/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/reading/process_memory.h"

/* Real modules have about ten segments and forty sections. To bound memory, a file with more
 * segments is refused, and a file with more sections is read without its sections. */
#define SEGMENTS_MAX 512
#define SECTIONS_MAX 4096

/* Bytes of a table that one read returns. */
#define BLOCK_BYTES 24576
_Static_assert(BLOCK_BYTES % sizeof(Elf64_Sym) == 0, "a block holds whole symbols");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct elf {
	/* Exactly one source is set: a file, a buffer, or memory that may be unmapped. */
	int fd;              /* or -1 */
	const uint8_t *data; /* or NULL */
	uintptr_t image;     /* address of the mapped ELF header, or 0 */

	uint64_t size;
	uint64_t bias; /* image only: mapped address minus link address */
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t segment_count;
	Elf64_Shdr *sections;
	size_t section_count;
	size_t name_section; /* index; 0: the sections have no names */
};

int elf_read(struct elf *elf, uint64_t offset, void *data, size_t length)
{
	if (offset > elf->size || length > elf->size - offset)
		return -ENODATA;
	if (elf->image)
		return process_memory_read(elf->image + offset, data, length);
	if (elf->fd >= 0)
		return fd_read(elf->fd, data, length, (off_t)offset);
	if (length)
		memcpy(data, elf->data + offset, length);
	return 0;
}

/* Whether the file bytes of SEGMENT contain [ADDRESS, ADDRESS + LENGTH). */
static bool segment_contains(const Elf64_Phdr *segment, uint64_t address, size_t length)
{
	return segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
	       address - segment->p_vaddr <= segment->p_filesz &&
	       length <= segment->p_filesz - (address - segment->p_vaddr);
}

int elf_read_address(struct elf *elf, uint64_t address, void *data, size_t length)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t offset = address - segment->p_vaddr;

		if (!segment_contains(segment, address, length))
			continue;
		if (elf->image) /* offset of the address from the header */
			return elf_read(elf, elf->bias + address - elf->image, data, length);
		if (offset > UINT64_MAX - segment->p_offset)
			return -ENOEXEC;
		return elf_read(elf, segment->p_offset + offset, data, length);
	}
	return -ENODATA;
}

static int elf_check_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != NATIVE_DATA)
		return -ENOEXEC;
	if (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	return 0;
}

static int elf_read_segments(struct elf *elf)
{
	size_t count = elf->header.e_phnum, bytes = count * sizeof(Elf64_Phdr);

	if (!count)
		return 0; /* an object file */
	if (count > SEGMENTS_MAX)
		return -ENOEXEC;
	elf->segments = malloc(bytes);
	if (!elf->segments)
		return -ENOMEM;
	elf->segment_count = count;
	return elf_read(elf, elf->header.e_phoff, elf->segments, bytes);
}

/* The header holds the number of sections and the index of the section names. Values that exceed
 * its 16 bits are in the first section. */
static int elf_read_sections(struct elf *elf)
{
	uint64_t count = elf->header.e_shnum, names = elf->header.e_shstrndx;
	Elf64_Shdr first;
	int err;

	if (!elf->header.e_shoff || elf->image)
		return 0;
	if (elf->header.e_shentsize != sizeof(Elf64_Shdr))
		return -ENOEXEC;
	err = elf_read(elf, elf->header.e_shoff, &first, sizeof(first));
	if (err)
		return err;
	if (!count)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!count || count > SECTIONS_MAX)
		return 0;
	elf->sections = malloc(count * sizeof(Elf64_Shdr));
	if (!elf->sections)
		return -ENOMEM;
	elf->section_count = count;
	elf->name_section = names < count ? names : 0;
	return elf_read(elf, elf->header.e_shoff, elf->sections, count * sizeof(Elf64_Shdr));
}

/* Read the tables of ELF, whose source is set. Takes ownership of ELF. */
static int elf_open_source(struct elf **out, struct elf *elf)
{
	int err;

	err = elf_read(elf, 0, &elf->header, sizeof(elf->header));
	if (err)
		goto out;
	err = elf_check_header(&elf->header);
	if (err)
		goto out;
	err = elf_read_segments(elf);
	if (err)
		goto out;
	err = elf_read_sections(elf);
	if (err)
		goto out;
	*out = elf;
	elf = NULL;
out:
	elf_close(elf);
	return err;
}

static struct elf *elf_new(void)
{
	struct elf *elf = calloc(1, sizeof(*elf));

	if (elf)
		elf->fd = -1;
	return elf;
}

int elf_open(struct elf **out, const char *path)
{
	/* With O_NONBLOCK, opening a FIFO does not block before the FIFO is refused. */
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));

	return fd < 0 ? fd : elf_open_fd(out, fd);
}

int elf_open_fd(struct elf **out, int fd)
{
	struct elf *elf = NULL;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (!(elf = elf_new()))
		err = -ENOMEM;
	if (err) {
		close(fd);
		return err;
	}
	elf->fd = fd;
	elf->size = (uint64_t)st.st_size;
	return elf_open_source(out, elf);
}

int elf_open_buffer(struct elf **out, const void *data, size_t size)
{
	struct elf *elf = elf_new();

	if (!elf)
		return -ENOMEM;
	elf->data = data;
	elf->size = size;
	return elf_open_source(out, elf);
}

int elf_open_image(struct elf **out, uintptr_t start, size_t size)
{
	struct elf *elf;
	int err;

	if (!start || size > UINTPTR_MAX - start)
		return -EINVAL;
	elf = elf_new();
	if (!elf)
		return -ENOMEM;
	elf->image = start;
	elf->size = size;
	err = elf_open_source(&elf, elf);
	if (err)
		return err;
	/* The header is the first byte of the segment with file offset 0. */
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_offset == 0) {
			elf->bias = start - segment->p_vaddr;
			*out = elf;
			return 0;
		}
	}
	elf_close(elf);
	return -ENOEXEC;
}

void elf_close(struct elf *elf)
{
	if (!elf)
		return;
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf->segments);
	free(elf->sections);
	free(elf);
}

const Elf64_Ehdr *elf_header(const struct elf *elf)
{
	return &elf->header;
}

bool elf_is_image(const struct elf *elf)
{
	return elf->image != 0;
}

uint64_t elf_image_bias(const struct elf *elf)
{
	return elf->bias;
}

uint64_t elf_size(const struct elf *elf)
{
	return elf->size;
}

size_t elf_segment_count(const struct elf *elf)
{
	return elf->segment_count;
}

const Elf64_Phdr *elf_segment(const struct elf *elf, size_t index)
{
	return index < elf->segment_count ? &elf->segments[index] : NULL;
}

const Elf64_Phdr *elf_find_segment(const struct elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->segment_count; i++)
		if (elf->segments[i].p_type == type)
			return &elf->segments[i];
	return NULL;
}

size_t elf_section_count(const struct elf *elf)
{
	return elf->section_count;
}

const Elf64_Shdr *elf_section(const struct elf *elf, size_t index)
{
	return index < elf->section_count ? &elf->sections[index] : NULL;
}

const Elf64_Shdr *elf_find_section_type(const struct elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].sh_type == type)
			return &elf->sections[i];
	return NULL;
}

const Elf64_Shdr *elf_find_section(struct elf *elf, const char *name)
{
	char text[64];

	if (!elf->name_section || strlen(name) >= sizeof(text))
		return NULL;
	for (size_t i = 1; i < elf->section_count; i++) {
		if (elf_string(elf, &elf->sections[elf->name_section], elf->sections[i].sh_name,
			       text, sizeof(text)) >= 0 &&
		    strcmp(text, name) == 0)
			return &elf->sections[i];
	}
	return NULL;
}

int elf_read_section(struct elf *elf, const Elf64_Shdr *section, uint64_t offset, void *data,
		     size_t length)
{
	if (section->sh_type == SHT_NOBITS || offset > section->sh_size ||
	    length > section->sh_size - offset || offset > UINT64_MAX - section->sh_offset)
		return -ENODATA;
	return elf_read(elf, section->sh_offset + offset, data, length);
}

int elf_string(struct elf *elf, const Elf64_Shdr *strings, uint64_t offset, char *text, size_t size)
{
	size_t length = 0, piece;
	const char *end;
	int err;

	if (!size || size > INT_MAX || offset >= strings->sh_size)
		return -ENODATA;
	/* Most strings are short, and the table may end at the end of the file: read in small pieces. */
	while (length < size - 1) {
		piece = size - 1 - length < 64 ? size - 1 - length : 64;
		if (piece > strings->sh_size - offset)
			piece = (size_t)(strings->sh_size - offset);
		if (!piece)
			return -ENODATA; /* the table ends within a string */
		err = elf_read_section(elf, strings, offset, text + length, piece);
		if (err)
			return err;
		end = memchr(text + length, '\0', piece);
		if (end)
			return (int)(end - text);
		length += piece;
		offset += piece;
	}
	text[length] = '\0';
	return (int)length;
}

int elf_symbols(struct elf *elf, const Elf64_Shdr *table,
		int (*visit)(void *context, const Elf64_Sym *symbol), void *context)
{
	uint64_t bytes = table->sh_size - table->sh_size % sizeof(Elf64_Sym);
	Elf64_Sym *block;
	size_t n;
	int err = 0;

	if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_type == SHT_NOBITS)
		return -ENOEXEC;
	block = malloc(BLOCK_BYTES);
	if (!block)
		return -ENOMEM;
	for (uint64_t at = 0; at < bytes && !err; at += n) {
		n = bytes - at < BLOCK_BYTES ? (size_t)(bytes - at) : BLOCK_BYTES;
		err = elf_read_section(elf, table, at, block, n);
		for (size_t i = 0; i < n / sizeof(*block) && !err; i++)
			err = visit(context, &block[i]);
	}
	free(block);
	return err;
}
