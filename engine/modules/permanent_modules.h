/* Modules that the loader never unloads. They are the program, its needed libraries, modules linked
 * with -z nodelete, what these need in turn, and the loader. */
#ifndef ENGINE_MODULES_PERMANENT_MODULES_H
#define ENGINE_MODULES_PERMANENT_MODULES_H

#include "engine/modules/loader_list.h"

/* Mark the permanent modules in LOADED. Agent thread. Returns 0 or -ENOMEM. */
int permanent_modules_mark(struct loader_list *loaded);

#endif
