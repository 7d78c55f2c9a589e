/* The unwind table of a loaded module. Agent thread only. */
#ifndef ENGINE_MODULES_MODULE_TABLE_H
#define ENGINE_MODULES_MODULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/modules/module_image.h"

struct unwind_table;

/* Whether walks can do without a table for the code of IMAGE at START, as cfi_lookup() serves. */
bool module_table_can_wait(const struct image *image, uintptr_t start);

/* Compile the unwind sections of IMAGE, which image_open() was called for, for its code at
 * [START, END). Returns the table, to be released with free(), or NULL. Without unwind information
 * its rules are those that the code tells (code_rules.h), or it tells where functions begin, and no more: frames are
 * then left by what calls them, or by frame pointer. */
struct unwind_table *module_table_compile(const struct image *image, uintptr_t start,
					  uintptr_t end);

#endif
