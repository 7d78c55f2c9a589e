/* Frames of the preload in stacks, recognized by their addresses, and a marker for unknown callers. */
#ifndef CORE_PRELOAD_CODE_H
#define CORE_PRELOAD_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/shared.h"

/* Marker instead of a program counter, in the outermost frame: its caller is not known. No code has this address. */
#define STACK_CALLERS_UNKNOWN      1
#define STACK_CALLERS_UNKNOWN_NAME "[unknown callers]"

/* True when ADDRESS is in the preload, including the agent's side. Always false where both sides are linked into one
 * program. */
static inline bool preload_code_has(uintptr_t address)
{
	return address - shared->preload.code < shared->preload.code_bytes;
}

/* True when ADDRESS is in an interposer: a function of the preload that the program calls. */
static inline bool preload_code_is_call(uintptr_t address)
{
	return address - shared->preload.calls < shared->preload.calls_bytes;
}

#endif
