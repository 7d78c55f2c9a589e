/* Facts about an interpreter from the dynamic symbols of its module. Agent thread only. */
#ifndef ENGINE_RUNTIME_RUNTIME_IMAGE_H
#define ENGINE_RUNTIME_RUNTIME_IMAGE_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"

/* Open the image of MODULE in memory, for image_symbol(). Returns 0 (release with elf_close()) or -errno. */
int runtime_image_open(struct elf **image, const struct module *module);

/* Read the four-byte constant NAME of IMAGE, which is loaded at BIAS. Returns 0, -ENOENT if there
 * is none, or -errno. */
int runtime_image_constant(struct elf *image, uintptr_t bias, const char *name, int32_t *value);

#endif
