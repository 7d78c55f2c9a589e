/* What a module's dynamic symbols tell of an interpreter in it. Agent thread only. */
#ifndef ENGINE_RUNTIME_RUNTIME_IMAGE_H
#define ENGINE_RUNTIME_RUNTIME_IMAGE_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"

/* Open the image of MODULE as it is in memory, for image_symbol(). Returns 0 (release with elf_close()) or
 * -errno. */
int runtime_image_open(struct elf **image, const struct module *module);

/* Read the four bytes of the constant that IMAGE, loaded at BIAS, has as NAME. Returns 0, -ENOENT when it
 * has none, or -errno. */
int runtime_image_constant(struct elf *image, uintptr_t bias, const char *name, int32_t *value);

#endif
