/* The dynamic symbols of a module in memory, found as the loader finds them. */
#ifndef ENGINE_ELF_IMAGE_SYMBOLS_H
#define ENGINE_ELF_IMAGE_SYMBOLS_H

#include "engine/elf/elf.h"

/* Describe, as sections would, where IMAGE (of elf_open_image) has its symbols and their names.
 * Returns 0, -ENOENT when it has none, or -errno. */
int image_symbols(struct elf *image, Elf64_Shdr *symbols, Elf64_Shdr *strings);

/* Find the symbol NAME, defined there, into *SYMBOL, by the hash table that the loader goes by: a few
 * reads, however many symbols there are. Its value is a link address. Returns 0, -ENOENT when it has
 * none, or -errno. */
int image_symbol(struct elf *image, const char *name, Elf64_Sym *symbol);

#endif
