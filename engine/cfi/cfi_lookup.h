/* The rule for a place in a module that no table was compiled for yet, as it came a moment ago or
 * few walks come through it: read from its unwind sections as they are in memory. */
#ifndef ENGINE_CFI_CFI_LOOKUP_H
#define ENGINE_CFI_CFI_LOOKUP_H

#include "engine/cfi/cfi_rules.h"
#include "engine/reading/memory_reader.h"

/* Find the loader's own search for modules, which glibc has from 2.35 on. Without it no lookup
 * finds anything. In a thread of the program, before there are others: it asks the C library. */
void cfi_lookup_init(void);

/* Where the header of the unwind sections is that a lookup for PC would search; NULL when there
 * will be no lookup. Nothing of it is read. */
const uint8_t *cfi_lookup_header(uintptr_t pc);

/* What is the outermost frame of each context that makecontext(3) makes; 0: none. */
uintptr_t cfi_lookup_outermost(void);

/* The module with HEADER is there to stay, and its bytes [LOW, HIGH) are never written: lookups read
 * them where they are, and others by copies that the kernel makes. Not in a handler. */
void cfi_lookup_lasting(const uint8_t *header, uintptr_t low, uintptr_t high);

/* Async-signal-safe: no locks, no allocation, and no byte read that could be gone. False when the
 * instruction at PC is in no module, or in one without a search table, or without a rule. Takes some
 * microseconds. What is copied goes through BLOCK. */
bool cfi_lookup(struct unwind_rule *rule, uintptr_t pc, struct memory_block *block);

/* Likewise, where the function at PC begins, or the part of it that has an entry of its own;
 * 0: not known. */
uintptr_t cfi_lookup_function(uintptr_t pc, struct memory_block *block);

#endif
