/* Finds PHP in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_PHP_FIND_H
#define ENGINE_RUNTIME_PHP_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/php/php.h"

/* Fill in *PHP, all zero before, where MODULE, of which the image is open, has PHP in a version that is
 * known. Returns 0, -ENOENT where there is none, -ENOTSUP where it is another version, or one for threads, or
 * -errno. */
int php_find(struct php *php, struct elf *image, const struct module *module);

#endif
