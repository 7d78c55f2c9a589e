/* Removes the preload's frames from the program's stacks. Agent thread. */
#ifndef ENGINE_COLLECT_PROGRAM_STACK_H
#define ENGINE_COLLECT_PROGRAM_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_write.h"

/* Copy COUNT pcs to OUT without the frames of the preload: interposers, and the code that calls the
 * program's handlers and threads. The pcs are innermost first; all but the first are return
 * addresses. An interposer stays as the innermost frame, because only it identifies the call. It
 * also stays where the C library implements it by another call, as usleep() by nanosleep(): then
 * the C library's frame identifies the inner call. Returns the number of pcs in OUT, which has room
 * for COUNT. */
size_t program_stack_strip(uintptr_t *out, const uintptr_t *pcs, size_t count);

/* jfr_stack() of the stripped stack. */
uint32_t program_stack(struct jfr_writer *jfr, const uintptr_t *pcs, size_t count, bool truncated);

#endif
