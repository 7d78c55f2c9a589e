/* A reader of 64-bit ELF that trusts nothing in it.
 *
 * A file is read with pread(2) and never mapped: were it truncated while mapped, the program
 * would die of SIGBUS. Whatever lies outside of the file, or contradicts itself, is -ENOEXEC or
 * -ENODATA, and never a fault. One thread at a time uses one struct elf; there is nothing
 * global. Not for signal context. */
#ifndef ENGINE_ELF_ELF_H
#define ENGINE_ELF_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;

/* Open the regular file PATH; anything else there is -EINVAL.
 * Returns 0 and sets *OUT (release with elf_close), or -errno. So do the other three. */
int elf_open(struct elf **out, const char *path);

/* Likewise of an open file. FD belongs to the reader from now on, also on failure. */
int elf_open_fd(struct elf **out, int fd);

/* A whole ELF file that lies at DATA, as the vDSO does: DATA stays the caller's, and must not
 * go away before elf_close. */
int elf_open_buffer(struct elf **out, const void *data, size_t size);

/* A module as the loader mapped it: its ELF header is at START, its pages up to START + SIZE.
 * It has segments and addresses but no sections, and may be unmapped at any moment: then
 * reading is -EFAULT. */
int elf_open_image(struct elf **out, uintptr_t start, size_t size);

void elf_close(struct elf *elf); /* NULL is fine */

const Elf64_Ehdr *elf_header(const struct elf *elf);

/* Whether elf_open_image() opened it; then: mapped address less link address. */
bool elf_is_image(const struct elf *elf);
uint64_t elf_image_bias(const struct elf *elf);

/* Bytes of the file, or of the buffer. */
uint64_t elf_size(const struct elf *elf);

/* Copy exactly LENGTH bytes from file offset OFFSET. */
int elf_read(struct elf *elf, uint64_t offset, void *data, size_t length);

/* Copy exactly LENGTH bytes that lie at the link address ADDRESS: inside of one PT_LOAD segment's
 * part that the file has. */
int elf_read_address(struct elf *elf, uint64_t address, void *data, size_t length);

/* The program headers; valid until elf_close. */
size_t elf_segment_count(const struct elf *elf);
const Elf64_Phdr *elf_segment(const struct elf *elf, size_t index);
/* The first of TYPE, or NULL. */
const Elf64_Phdr *elf_find_segment(const struct elf *elf, uint32_t type);

/* The section headers; a file with more than some thousands of them shows none.
 * elf_find_section: the first of that name, or NULL. */
size_t elf_section_count(const struct elf *elf);
const Elf64_Shdr *elf_section(const struct elf *elf, size_t index);
const Elf64_Shdr *elf_find_section(struct elf *elf, const char *name);
/* The first of TYPE (SHT_SYMTAB, SHT_DYNSYM, …), or NULL. */
const Elf64_Shdr *elf_find_section_type(const struct elf *elf, uint32_t type);

/* Copy exactly LENGTH bytes from OFFSET of SECTION's content. */
int elf_read_section(struct elf *elf, const Elf64_Shdr *section, uint64_t offset, void *data,
		     size_t length);

/* Copy the string at OFFSET of the string table STRINGS, cut to SIZE - 1 bytes.
 * Returns its length in TEXT, or -errno. */
int elf_string(struct elf *elf, const Elf64_Shdr *strings, uint64_t offset, char *text,
	       size_t size);

/* Call VISIT for each symbol of TABLE (SHT_SYMTAB or SHT_DYNSYM) in the table's order, until it
 * returns other than 0, which is then returned. Reads in blocks: costs no memory by the size of
 * the table. */
int elf_symbols(struct elf *elf, const Elf64_Shdr *table,
		int (*visit)(void *context, const Elf64_Sym *symbol), void *context);

#endif
