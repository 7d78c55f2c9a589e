/* Modules that the loader never unloads: the program, what it names as needed, and what asks to stay
 * (-z nodelete), with what these need in turn; and the loader itself. */
#ifndef ENGINE_MODULES_PERMANENT_MODULES_H
#define ENGINE_MODULES_PERMANENT_MODULES_H

#include "engine/modules/loader_list.h"

/* Mark them among those LOADED. Agent thread. Returns 0 or -ENOMEM. */
int permanent_modules_mark(struct loader_list *loaded);

#endif
