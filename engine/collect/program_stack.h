/* Stacks as the program's authors know them: without the preload's frames. Agent thread. */
#ifndef ENGINE_COLLECT_PROGRAM_STACK_H
#define ENGINE_COLLECT_PROGRAM_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_write.h"

/* Leave out of the COUNT pcs (innermost first; from the second on, return addresses) those within the
 * preload: interposers, through which the program calls its C library, and what calls its handlers and
 * threads. Where such a call is the innermost frame it stays, as no other tells of it; and where it is made of
 * another one, as usleep() is of nanosleep(), of which the C library's frame tells. Returns how many are in OUT,
 * which has room for COUNT. */
size_t program_stack_strip(uintptr_t *out, const uintptr_t *pcs, size_t count);

/* jfr_stack() of that. */
uint32_t program_stack(struct jfr_writer *jfr, const uintptr_t *pcs, size_t count, bool truncated);

#endif
