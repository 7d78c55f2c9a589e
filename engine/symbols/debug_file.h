/* The files that know a module's symbols: its own, and those that were split from it. */
#ifndef ENGINE_SYMBOLS_DEBUG_FILE_H
#define ENGINE_SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/elf/elf.h"

/* Where distributions put separate debug files. */
#define DEBUG_FILE_ROOT "/usr/lib/debug"

/* What is mapped, by which a file is known to be the same. */
struct mapped_file {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size; /* 0: none; then the first pages must be equal */
	uint64_t bias;        /* mapped address less link address */
	bool mapped;          /* still there, so that it may be compared */
};

/* Open the file that MAPPED is mapped from. It may have been replaced or removed since: -ESTALE
 * when it is another, or the error of opening it. The running executable is found all the same.
 * Returns 0 and sets *OUT (release with elf_close), or -errno. So do the others. */
int debug_file_open(struct elf **out, const struct mapped_file *mapped);

/* MAPPED itself, where its pages are: only dynamic symbols are to be had from it. */
int debug_file_open_image(struct elf **out, const struct mapped_file *mapped);

/* The separate debug file of FILE, which is at PATH: by its build-id below ROOT, or by its
 * debug link, beside it or below ROOT, where it must have the same build-id or, for want of
 * one, the checksum that the link says. */
int debug_file_open_separate(struct elf **out, struct elf *file, const char *path,
			     const char *root);

/* The small symbol table that some distributions pack into .gnu_debugdata. */
int debug_file_unpack(struct elf **out, struct elf *file);

#endif
