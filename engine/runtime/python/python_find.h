/* Search for CPython in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_PYTHON_FIND_H
#define ENGINE_RUNTIME_PYTHON_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/python/python.h"

/* Fill in *PYTHON, which is zeroed, if MODULE has an interpreter of a known version. IMAGE is the
 * open image of MODULE. Returns 0, -ENOENT if there is none, -ENOTSUP if the version is unknown, or
 * -errno. */
int python_find(struct python *python, struct elf *image, const struct module *module);

/* Whether the process has several interpreters now. */
bool python_find_several(const struct python *python);

#endif
