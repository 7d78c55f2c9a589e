/* Where a thread has a variable of a module's, as the loader has settled it. The agent's thread. */
#ifndef ENGINE_CONTEXT_CONTEXT_PLACE_H
#define ENGINE_CONTEXT_CONTEXT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/context/thread_context.h"
#include "engine/elf/elf.h"

/* Find the place of SYMBOL, a thread-local one that the module of IMAGE, loaded at BIAS, defines; MUSL: the
 * program's C library is. Returns 0, -EAGAIN where the loader has not settled it yet, -ENOENT where nothing
 * in the module tells it, or -errno. */
int context_place_find(struct context_place *place, struct elf *image, uintptr_t bias,
		       const Elf64_Sym *symbol, bool musl);

#endif
