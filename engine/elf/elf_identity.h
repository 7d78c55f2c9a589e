/* What tells one ELF file from another, and leads to the debug file that belongs to it. */
#ifndef ENGINE_ELF_ELF_IDENTITY_H
#define ENGINE_ELF_ELF_IDENTITY_H

#include "engine/elf/elf.h"

/* The longest build-id that is looked at; GNU ld writes 20 bytes, others 8 or 16. */
#define ELF_BUILD_ID_MAX 64

/* The longest file name in .gnu_debuglink, with its NUL. */
#define ELF_NAME_MAX 256

/* The GNU build-id. Returns its length, at most ELF_BUILD_ID_MAX, or -ENOENT, or -errno. */
int elf_build_id(struct elf *elf, uint8_t id[ELF_BUILD_ID_MAX]);

/* The file name and checksum in .gnu_debuglink. Returns 0, -ENOENT, or -errno. */
int elf_debug_link(struct elf *elf, char name[ELF_NAME_MAX], uint32_t *crc);

/* The checksum that .gnu_debuglink means, over the whole file. */
int elf_crc32(struct elf *elf, uint32_t *crc);

#endif
