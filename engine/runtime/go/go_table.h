/* Unwind table of a Go program, whose functions have only Go's own unwind information. */
#ifndef ENGINE_RUNTIME_GO_TABLE_H
#define ENGINE_RUNTIME_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/cfi/cfi.h"
#include "engine/modules/module_image.h"

/* Whether PHDR, of a module that is loaded at BIAS, has the note of Go's linker. */
bool go_note_is_in(uintptr_t bias, const Elf64_Phdr *phdr);

/* Whether IMAGE is a Go program, according to the note of Go's linker. */
bool go_table_is_for(const struct image *image);

/* Compile a table for the code of IMAGE from START to END. Go functions use Go's own table; all
 * other code, linked C code, uses REST, which may be NULL and remains owned by the caller. Returns
 * NULL if Go's table cannot be read. */
struct unwind_table *go_table_compile(const struct image *image, uintptr_t start, uintptr_t end,
				      const struct unwind_table *rest);

#endif
