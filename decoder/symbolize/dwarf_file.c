/* File that libdw reads. */
#include "decoder/symbolize/dwarf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "decoder/output/message.h"
#include "engine/elf/elf.h"

/* Returns the decompressed size of SECTION, 0 if it is not compressed. */
static uint64_t section_unpacked_size(struct elf *elf, const Elf64_Shdr *section, const char *name)
{
	Elf64_Chdr header;
	uint8_t old[12]; /* "ZLIB", and the size in big-endian order */
	uint64_t size = 0;

	if (section->sh_flags & SHF_COMPRESSED)
		return elf_read(elf, section->sh_offset, &header, sizeof(header)) ? UINT32_MAX
										  : header.ch_size;
	if (strncmp(name, ".zdebug", 7))
		return 0;
	if (elf_read(elf, section->sh_offset, old, sizeof(old)))
		return UINT32_MAX;
	for (size_t i = 4; i < sizeof(old); i++)
		size = size << 8 | old[i];
	return size;
}

/* Sum up the sections that libdw would decompress. */
static int file_unpacked_size(const char *path, size_t *out)
{
	const Elf64_Shdr *names, *section;
	uint64_t sum = 0, size;
	struct elf *elf;
	char name[16];
	int err = elf_open(&elf, path);

	if (err)
		return err;
	names = elf_section(elf, elf_header(elf)->e_shstrndx);
	for (size_t i = 0; names && i < elf_section_count(elf); i++) {
		section = elf_section(elf, i);
		if (elf_string(elf, names, section->sh_name, name, sizeof(name)) <= 0)
			continue;
		size = section_unpacked_size(elf, section, name);
		sum += size < UINT32_MAX ? size : UINT32_MAX;
	}
	elf_close(elf);
	*out = sum;
	return 0;
}

int dwarf_file_open(struct dwarf_file *file, const struct dwarf_library *lib, const char *path,
		    size_t room, const char *name)
{
	int err = file_unpacked_size(path, &file->unpacked);

	file->dwarf = NULL;
	file->fd = -1;
	if (err)
		return err;
	if (file->unpacked > room) {
		if (name)
			message_print(
				"%s: its debug information would take %zu MiB decompressed, the "
				"limit is lower: decompress it first, with objcopy "
				"--decompress-debug-sections %s",
				name, file->unpacked >> 20, path);
		file->unpacked = 0;
		return -EFBIG;
	}
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	file->dwarf = lib->dwarf_begin(file->fd, DWARF_C_READ);
	return file->dwarf ? 0 : -ENODATA;
}

void dwarf_file_close(struct dwarf_file *file, const struct dwarf_library *lib)
{
	if (file->dwarf)
		lib->dwarf_end(file->dwarf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct dwarf_file)DWARF_FILE_CLOSED;
}
