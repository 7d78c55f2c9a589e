/* Build-id, debug link and checksum of an ELF file: they identify the file and its debug file. */
#ifndef ENGINE_ELF_ELF_IDENTITY_H
#define ENGINE_ELF_ELF_IDENTITY_H

#include "engine/elf/elf.h"

/* The longest build-id that is read; GNU ld writes 20 bytes, other linkers 8 or 16. */
#define ELF_BUILD_ID_MAX 64

/* The longest file name in .gnu_debuglink, including its NUL. */
#define ELF_NAME_MAX 256

/* Read the GNU build-id into ID. Returns its length, at most ELF_BUILD_ID_MAX, or -ENOENT, or -errno. */
int elf_build_id(struct elf *elf, uint8_t id[ELF_BUILD_ID_MAX]);

/* Read the file name and the checksum of .gnu_debuglink. Returns 0, -ENOENT, or -errno. */
int elf_debug_link(struct elf *elf, char name[ELF_NAME_MAX], uint32_t *crc);

/* Compute the checksum of .gnu_debuglink over the whole file. Returns 0 or -errno. */
int elf_crc32(struct elf *elf, uint32_t *crc);

#endif
