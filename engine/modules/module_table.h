/* Unwind table of a loaded module. Agent thread only. */
#ifndef ENGINE_MODULES_MODULE_TABLE_H
#define ENGINE_MODULES_MODULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/modules/module_image.h"

struct unwind_table;

/* Whether walks need no table for the code of IMAGE at START, because cfi_lookup() serves them. */
bool module_table_can_wait(const struct image *image, uintptr_t start);

/* Compile the unwind sections of IMAGE, which image_open() has opened, for its code at [START,
 * END). Returns the table (release with free()), or NULL. Without unwind information, the rules
 * come from the code (code_rules.h), or the table has only function starts. Frames are then unwound
 * by the call site, or by frame pointer. */
struct unwind_table *module_table_compile(const struct image *image, uintptr_t start,
					  uintptr_t end);

#endif
