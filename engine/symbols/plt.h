/* Names for PLT stubs, through which a module calls functions of other modules. */
#ifndef ENGINE_SYMBOLS_PLT_H
#define ENGINE_SYMBOLS_PLT_H

#include <stddef.h>

#include "engine/elf/elf.h"
#include "engine/symbols/symbol_table.h"

/* Answer those of MATCHES that are not found yet and are in a stub of .plt, .plt.sec, .plt.got or
 * .iplt. The relocation of the slot that the stub jumps through gives the symbol; names are in
 * *STRINGS. A slot that a resolver fills at load time has no name; the match then gets its
 * resolver. Returns 0, -ENOENT if the file has no dynamic symbols, or -errno. */
int plt_match(struct elf *elf, struct symbol_match *matches, size_t count,
	      const Elf64_Shdr **strings);

/* Answer those of MATCHES that have a resolver and are not found yet, by the symbols of TABLE at
 * their resolvers; names are in STRINGS. Returns 0 or -errno. */
int plt_match_resolvers(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
			struct symbol_match *matches, size_t count);

#endif
