/* Finds the address of a module's thread-local variable in each thread, from what the loader has
 * resolved. The agent's thread. */
#ifndef ENGINE_CONTEXT_CONTEXT_PLACE_H
#define ENGINE_CONTEXT_CONTEXT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/context/thread_context.h"
#include "engine/elf/elf.h"

/* Find the place of the thread-local SYMBOL, which the module of IMAGE, loaded at BIAS, defines.
 * MUSL: the program's C library is musl. Returns 0, -EAGAIN if the loader has not resolved it yet,
 * -ENOENT if the module does not contain the information, or -errno. */
int context_place_find(struct context_place *place, struct elf *image, uintptr_t bias,
		       const Elf64_Sym *symbol, bool musl);

#endif
