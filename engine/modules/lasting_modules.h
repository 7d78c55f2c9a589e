/* Modules that the loader never unloads: the program, what it names as needed, and what asks to stay
 * (-z nodelete), with what these need in turn. */
#ifndef ENGINE_MODULES_LASTING_MODULES_H
#define ENGINE_MODULES_LASTING_MODULES_H

#include <stdint.h>

#include "engine/modules/loader_list.h"

/* The header of a module's unwind sections, and the read-only segment [LOW, HIGH) that has it. */
typedef void lasting_module_teller(const uint8_t *header, uintptr_t low, uintptr_t high);

/* Call TELL for each of those LOADED that has such a segment. Agent thread. Returns 0 or -ENOMEM. */
int lasting_modules_each(const struct loader_list *loaded, lasting_module_teller *tell);

#endif
