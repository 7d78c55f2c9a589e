/* Search for V8 in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_V8_FIND_H
#define ENGINE_RUNTIME_V8_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/v8/v8.h"

/* Fill in *V8, which is zeroed, if MODULE has a V8 of a known version. IMAGE is the open image of
 * MODULE. Returns 0, -ENOENT if there is none, -ENOTSUP if the version is unknown, or -errno. */
int v8_find(struct v8 *v8, struct elf *image, const struct module *module);

#endif
