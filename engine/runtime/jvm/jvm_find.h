/* Finds a Java machine in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_JVM_FIND_H
#define ENGINE_RUNTIME_JVM_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/jvm/jvm.h"

/* Fill in *JVM, all zero before, where MODULE, of which the image is open, is HotSpot's. Returns 0, -ENOENT where it is
 * not, or -errno. */
int jvm_find(struct jvm *jvm, struct elf *image, const struct module *module);

/* Whether names of its functions have come since. */
bool jvm_find_names(struct jvm *jvm);

#endif
