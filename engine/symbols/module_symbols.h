/* All that is known of one module's symbols, from the best source to the last. */
#ifndef ENGINE_SYMBOLS_MODULE_SYMBOLS_H
#define ENGINE_SYMBOLS_MODULE_SYMBOLS_H

#include <stddef.h>

#include "engine/modules/modules.h"
#include "engine/symbols/symbol_table.h"

/* Told once for each match that a source answers: TEXT is the symbol as the file has it, less a
 * version, and SUFFIX ("@plt" or "") follows it. Both are valid during the call only. Returns 0,
 * or -errno to end it all. */
typedef int (*module_symbols_named)(void *context, const struct symbol_match *match,
				    const char *text, const char *suffix);

/* Answer MATCHES, sorted by address and with all else 0, as far as MODULE's symbols can be had:
 * from its .symtab, else that of a separate debug file, then from .gnu_debugdata, .dynsym, the
 * stubs of the PLT and Go's own table; where the file is no longer to be had, from the dynamic symbols in memory.
 * A source that is missing or malformed is passed over. Returns 0, -ENOMEM, or what NAMED said. */
int module_symbols_match(const struct module *module, struct symbol_match *matches, size_t count,
			 module_symbols_named named, void *context);

#endif
