/* Lookup of an unwind rule in a module without a compiled table: it was just loaded, or few walks
 * pass through it. Reads its unwind sections in memory. */
#ifndef ENGINE_CFI_CFI_LOOKUP_H
#define ENGINE_CFI_CFI_LOOKUP_H

#include "engine/cfi/cfi_rules.h"
#include "engine/reading/memory_reader.h"

/* Find the loader's search for modules, which glibc has since 2.35. Without it every lookup fails.
 * Called in a thread of the program before there are others, because it calls the C library; a
 * second call does nothing. */
void cfi_lookup_init(void);

/* The header of the unwind sections that a lookup for PC would search; NULL when no lookup is
 * possible. Reads nothing of the header. */
const uint8_t *cfi_lookup_header(uintptr_t pc);

/* The outermost frame of every context that makecontext(3) makes; 0: none. */
uintptr_t cfi_lookup_outermost(void);

/* The module with HEADER stays loaded, and its bytes [LOW, HIGH) are never written. Lookups read
 * them in place; other sections are read through copies by the kernel. Not in a handler. */
void cfi_lookup_lasting(const uint8_t *header, uintptr_t low, uintptr_t high);

/* Make lookups read the module of PC in place, without the agent's thread: the module stays loaded. In the
 * constructor, after cfi_lookup_init(). */
void cfi_lookup_in_place(uintptr_t pc);

/* Look up the rule for the instruction at PC. Async-signal-safe: no locks, no allocation, and no
 * read that could fault. Returns false when PC is in no module, in one without a search table, or
 * has no rule. Takes some microseconds. BLOCK is the buffer of the kernel's copies. */
bool cfi_lookup(struct unwind_rule *rule, uintptr_t pc, struct memory_block *block);

/* The start of the function at PC, or of its part that has an entry of its own; 0 if unknown. */
uintptr_t cfi_lookup_function(uintptr_t pc, struct memory_block *block);

#endif
