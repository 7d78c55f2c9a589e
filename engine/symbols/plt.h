/* Names for the stubs by which a module calls functions of others. */
#ifndef ENGINE_SYMBOLS_PLT_H
#define ENGINE_SYMBOLS_PLT_H

#include <stddef.h>

#include "engine/elf/elf.h"
#include "engine/symbols/symbol_table.h"

/* Answer those of MATCHES that are not found yet and lie in a stub of .plt, .plt.sec, .plt.got or
 * .iplt: from the slot that it jumps through, and the relocation of that slot. Their names are in
 * *STRINGS. A slot that is filled in by a resolver at load has no name there: such a match is told
 * its resolver. Returns 0, -ENOENT when the file has no dynamic symbols, or -errno. */
int plt_match(struct elf *elf, struct symbol_match *matches, size_t count,
	      const Elf64_Shdr **strings);

/* Answer those that have a resolver and are not found yet, by the symbols of TABLE at resolvers,
 * with the names in STRINGS. Returns 0 or -errno. */
int plt_match_resolvers(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
			struct symbol_match *matches, size_t count);

#endif
