/* The unwind table of a program of Go, whose functions have no unwind information but Go's own. */
#ifndef ENGINE_RUNTIME_GO_TABLE_H
#define ENGINE_RUNTIME_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/cfi/cfi.h"
#include "engine/modules/module_image.h"

/* Whether IMAGE is of Go, by the note that its linker writes. */
bool go_table_is_for(const struct image *image);

/* A table for IMAGE's code from START to END: of Go's functions by Go's own table, and of the rest, C that is
 * linked in, by REST, which may be NULL and stays the caller's. NULL where Go's table cannot be read. */
struct unwind_table *go_table_compile(const struct image *image, uintptr_t start, uintptr_t end,
				      const struct unwind_table *rest);

#endif
