/* Search for a Java machine in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_JVM_FIND_H
#define ENGINE_RUNTIME_JVM_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/jvm/jvm.h"

/* Fill in *JVM, which is zeroed, if MODULE is HotSpot. IMAGE is the open image of MODULE. Returns
 * 0, -ENOENT if it is not HotSpot, or -errno. */
int jvm_find(struct jvm *jvm, struct elf *image, const struct module *module);

/* Whether names of its functions became available since the last check. */
bool jvm_find_names(struct jvm *jvm);

#endif
