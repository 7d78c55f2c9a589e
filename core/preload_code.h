/* Frames of a stack that are not the program's: the preload's own, told by where its code is, and a mark. */
#ifndef CORE_PRELOAD_CODE_H
#define CORE_PRELOAD_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/shared.h"

/* Stands in place of a program counter, outermost: somebody called the frame before it, but nothing tells who.
 * No code lies so low. */
#define STACK_CALLERS_UNKNOWN      1
#define STACK_CALLERS_UNKNOWN_NAME "[unknown callers]"

/* Whether ADDRESS is in the preload, the agent's side included. Nothing is where all of it is linked into one
 * program. */
static inline bool preload_code_has(uintptr_t address)
{
	return address - shared->preload.code < shared->preload.code_bytes;
}

/* Whether it is in a function of the preload that the program calls in place of another one. */
static inline bool preload_code_is_call(uintptr_t address)
{
	return address - shared->preload.calls < shared->preload.calls_bytes;
}

#endif
