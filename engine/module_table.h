/* The unwind table of a loaded module. Agent thread only. */
#ifndef ENGINE_MODULE_TABLE_H
#define ENGINE_MODULE_TABLE_H

#include <stdint.h>

#include "engine/image.h"

struct unwind_table;

/* Compile the unwind sections of IMAGE, which image_open() was called for, for its code at
 * [START, END). Returns the table, to be released with free(), or NULL when there is no unwind
 * information: its frames are then walked by frame pointer. */
struct unwind_table *module_table_compile(const struct image *image, uintptr_t start,
					  uintptr_t end);

#endif
