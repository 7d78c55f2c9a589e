/* Finds V8 in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_V8_FIND_H
#define ENGINE_RUNTIME_V8_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/v8/v8.h"

/* Fill in *V8, all zero before, where MODULE, of which the image is open, has a V8 of a version that is
 * known. Returns 0, -ENOENT where there is none, -ENOTSUP where it is another version, or -errno. */
int v8_find(struct v8 *v8, struct elf *image, const struct module *module);

#endif
