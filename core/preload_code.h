/* Where the preload's own code is, by which its frames are told from the program's. */
#ifndef CORE_PRELOAD_CODE_H
#define CORE_PRELOAD_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/shared.h"

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
