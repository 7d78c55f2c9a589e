/* Files with the symbols of a module: its own file and separate debug files. */
#ifndef ENGINE_SYMBOLS_DEBUG_FILE_H
#define ENGINE_SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/elf/elf.h"

/* Directory of the distributions' separate debug files. */
#define DEBUG_FILE_ROOT "/usr/lib/debug"

/* A mapped module, in the form that identifies its file. */
struct mapped_file {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size; /* 0: no build-id; then the first pages must be equal */
	uint64_t bias;        /* mapped address minus link address */
	bool mapped;          /* still mapped, so its memory can be compared */
};

/* Open the file that MAPPED is mapped from. It may have been replaced or removed: returns -ESTALE
 * if it is another file, or the error of opening it. The running executable is found in any case.
 * Returns 0 and sets *OUT (release with elf_close), or -errno. The other functions return the same. */
int debug_file_open(struct elf **out, const struct mapped_file *mapped);

/* Open the mapped memory of MAPPED, which has only dynamic symbols. */
int debug_file_open_image(struct elf **out, const struct mapped_file *mapped);

/* Open the separate debug file of FILE, which is at PATH. It is found by its build-id below ROOT,
 * or by its debug link, in the directory of PATH or below ROOT. A linked file must have the same build-id or, if
 * there is none, the checksum of the link. */
int debug_file_open_separate(struct elf **out, struct elf *file, const char *path,
			     const char *root);

/* Unpack the small symbol table that some distributions store in .gnu_debugdata. */
int debug_file_unpack(struct elf **out, struct elf *file);

#endif
