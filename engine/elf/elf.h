/* Reader for 64-bit ELF files that trusts none of their content.
 *
 * A file is read with pread(2) and never mapped: if a mapped file were truncated, the program would
 * die of SIGBUS. Data outside the file and contradictions give -ENOEXEC or -ENODATA, never a fault.
 * A struct elf belongs to one thread at a time; there is no global state. Not for signal context. */
#ifndef ENGINE_ELF_ELF_H
#define ENGINE_ELF_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;

/* Open the regular file PATH; other file types give -EINVAL. Returns 0 and sets *OUT (release with
 * elf_close), or -errno. The other three functions return the same. */
int elf_open(struct elf **out, const char *path);

/* Same for an open file. The reader takes ownership of FD, also on failure. */
int elf_open_fd(struct elf **out, int fd);

/* Open a whole ELF file in memory at DATA, such as the vDSO. The caller owns DATA and keeps it until elf_close. */
int elf_open_buffer(struct elf **out, const void *data, size_t size);

/* Open a module that the loader mapped: its ELF header is at START, its pages end at START + SIZE.
 * It has segments and addresses but no sections. It may be unmapped at any time; reads then return
 * -EFAULT. */
int elf_open_image(struct elf **out, uintptr_t start, size_t size);

void elf_close(struct elf *elf); /* NULL is allowed */

const Elf64_Ehdr *elf_header(const struct elf *elf);

/* Whether elf_open_image() opened ELF, and the bias of an image: mapped address minus link address. */
bool elf_is_image(const struct elf *elf);
uint64_t elf_image_bias(const struct elf *elf);

/* Size of the file or of the buffer in bytes. */
uint64_t elf_size(const struct elf *elf);

/* Copy exactly LENGTH bytes from file offset OFFSET. */
int elf_read(struct elf *elf, uint64_t offset, void *data, size_t length);

/* Copy exactly LENGTH bytes from link address ADDRESS. They must be within the file bytes of one
 * PT_LOAD segment. */
int elf_read_address(struct elf *elf, uint64_t address, void *data, size_t length);

/* The program headers; valid until elf_close. */
size_t elf_segment_count(const struct elf *elf);
const Elf64_Phdr *elf_segment(const struct elf *elf, size_t index);
/* The first segment of TYPE, or NULL. */
const Elf64_Phdr *elf_find_segment(const struct elf *elf, uint32_t type);

/* The section headers; the count is 0 for a file with more than a few thousand of them.
 * elf_find_section returns the first section with that name, or NULL. */
size_t elf_section_count(const struct elf *elf);
const Elf64_Shdr *elf_section(const struct elf *elf, size_t index);
const Elf64_Shdr *elf_find_section(struct elf *elf, const char *name);
/* The first section of TYPE (SHT_SYMTAB, SHT_DYNSYM, …), or NULL. */
const Elf64_Shdr *elf_find_section_type(const struct elf *elf, uint32_t type);

/* Copy exactly LENGTH bytes from OFFSET in the content of SECTION. */
int elf_read_section(struct elf *elf, const Elf64_Shdr *section, uint64_t offset, void *data,
		     size_t length);

/* Copy the string at OFFSET of the string table STRINGS, cut to SIZE - 1 bytes. Returns the length
 * in TEXT, or -errno. */
int elf_string(struct elf *elf, const Elf64_Shdr *strings, uint64_t offset, char *text,
	       size_t size);

/* Call VISIT for each symbol of TABLE (SHT_SYMTAB or SHT_DYNSYM), in the order of the table, until
 * VISIT returns other than 0. Returns that value. Reads in blocks, so memory does not depend on the
 * size of the table. */
int elf_symbols(struct elf *elf, const Elf64_Shdr *table,
		int (*visit)(void *context, const Elf64_Sym *symbol), void *context);

#endif
