/* Search for PHP in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_PHP_FIND_H
#define ENGINE_RUNTIME_PHP_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/php/php.h"

/* Fill in *PHP, which is zeroed, if MODULE has PHP in a known version. IMAGE is the open image of
 * MODULE. Returns 0, -ENOENT if there is none, -ENOTSUP if the version is unknown or built for
 * threads, or -errno. */
int php_find(struct php *php, struct elf *image, const struct module *module);

#endif
