/* Where the functions of a module begin that has no unwind information, as musl has none. */
#ifndef ENGINE_MODULES_FUNCTION_STARTS_H
#define ENGINE_MODULES_FUNCTION_STARTS_H

#include <stdint.h>

#include "engine/cfi/cfi.h"
#include "engine/modules/module_image.h"

/* A table for IMAGE's code from START to END whose rows begin where functions do, with no rule: where its
 * symbols say so, and where it calls itself; or with the rules that its code tells, where that can be followed.
 * IMAGE is open. NULL where none is found, or without memory. Release with free(). */
struct unwind_table *function_starts_compile(const struct image *image, uintptr_t start,
					     uintptr_t end);

/* Where the function at OFFSET of such a table begins; UINT64_MAX where that is not told. */
uint64_t function_starts_find(const struct unwind_table *table, uint64_t offset);

#endif
