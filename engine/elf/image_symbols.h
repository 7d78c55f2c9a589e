/* Dynamic symbols of a module in memory, found by the dynamic section, as in the loader. */
#ifndef ENGINE_ELF_IMAGE_SYMBOLS_H
#define ENGINE_ELF_IMAGE_SYMBOLS_H

#include "engine/elf/elf.h"

/* Describe the symbols of IMAGE (from elf_open_image) and their names as two section headers.
 * Returns 0, -ENOENT if IMAGE has none, or -errno. */
int image_symbols(struct elf *image, Elf64_Shdr *symbols, Elf64_Shdr *strings);

/* Look up the defined symbol NAME in the loader's hash table and copy it to *SYMBOL. Needs a few
 * reads, for any number of symbols. The value is a link address. Returns 0, -ENOENT if there is
 * none, or -errno. */
int image_symbol(struct elf *image, const char *name, Elf64_Sym *symbol);

#endif
