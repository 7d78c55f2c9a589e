/* Rules that walks looked up, in modules that have no table yet: a program that samples often, or
 * keeps the agent's thread from running, meets the same places over and over.
 *
 * Bounded: a place may take that of another. All calls are async-signal-safe and take no lock, from
 * any thread at any time: who comes in between a change finds nothing, or leaves all as it is. */
#ifndef ENGINE_UNWIND_LOOKUPS_H
#define ENGINE_UNWIND_LOOKUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/cfi.h"

bool unwind_lookups_find(struct unwind_rule *rule, uintptr_t pc);
void unwind_lookups_keep(const struct unwind_rule *rule, uintptr_t pc);

/* Forget all, but for what is kept meanwhile. */
void unwind_lookups_clear(void);

#endif
