/* Finds CPython in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_PYTHON_FIND_H
#define ENGINE_RUNTIME_PYTHON_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/python/python.h"

/* Fill in *PYTHON, all zero before, where MODULE, of which the image is open, has an interpreter of a
 * version that is known. Returns 0, -ENOENT where there is none, -ENOTSUP where it is another version, or
 * -errno. */
int python_find(struct python *python, struct elf *image, const struct module *module);

/* Whether it has several interpreters now. */
bool python_find_several(const struct python *python);

#endif
