/* Function starts of a module without unwind information, such as musl. */
#ifndef ENGINE_MODULES_FUNCTION_STARTS_H
#define ENGINE_MODULES_FUNCTION_STARTS_H

#include <stdint.h>

#include "engine/cfi/cfi.h"
#include "engine/modules/module_image.h"

/* Compile a table for the code of IMAGE from START to END. Its rows begin at function starts, found
 * by symbols and by calls within the code. Rows have no rule, or a rule from the code if that can
 * be followed. IMAGE is open. Returns NULL if no start is found, or without memory. Release with
 * free(). */
struct unwind_table *function_starts_compile(const struct image *image, uintptr_t start,
					     uintptr_t end);

/* Start of the function at OFFSET of such a table; UINT64_MAX if not known. */
uint64_t function_starts_find(const struct unwind_table *table, uint64_t offset);

#endif
