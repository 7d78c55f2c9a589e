/* Names for the stubs by which a module calls functions of others. */
#ifndef ENGINE_PLT_H
#define ENGINE_PLT_H

#include <stddef.h>

#include "engine/elf.h"
#include "engine/symbol_table.h"

/* Answer those of MATCHES that are not found yet and lie in a stub of .plt, .plt.sec or .plt.got:
 * from the slot that it jumps through, and the relocation of that slot. Their names are in
 * *STRINGS. Returns 0, -ENOENT when the file has no stubs, or -errno. */
int plt_match(struct elf *elf, struct symbol_match *matches, size_t count,
	      const Elf64_Shdr **strings);

#endif
