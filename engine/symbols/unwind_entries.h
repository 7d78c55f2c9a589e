/* Function starts from a module's unwind section, for code without symbols. */
#ifndef ENGINE_SYMBOLS_UNWIND_ENTRIES_H
#define ENGINE_SYMBOLS_UNWIND_ENTRIES_H

#include <stddef.h>

#include "engine/elf/elf.h"
#include "engine/symbols/symbol_table.h"

/* Set `start` of those of MATCHES that are not found and are covered by an entry of ELF's
 * .eh_frame. MATCHES are sorted by address. Reads only the search table's rows and entries that it
 * needs, or without such a table the whole section. A malformed or unusual section sets nothing. */
void unwind_entries_match(struct elf *elf, struct symbol_match *matches, size_t count);

#endif
