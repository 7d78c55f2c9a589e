/* Symbols of one module from all its sources, the best source first. */
#ifndef ENGINE_SYMBOLS_MODULE_SYMBOLS_H
#define ENGINE_SYMBOLS_MODULE_SYMBOLS_H

#include <stddef.h>

#include "engine/modules/modules.h"
#include "engine/symbols/symbol_table.h"

/* Called once for each match that a source answers. TEXT is the symbol in the file without its
 * version; SUFFIX ("@plt" or "") follows it. Both are valid only during the call. Returns 0, or
 * -errno to stop the search. */
typedef int (*module_symbols_named)(void *context, const struct symbol_match *match,
				    const char *text, const char *suffix);

/* Called once for each match where functions are inlined. LIST has their names, innermost first, each with its NUL, and
 * then an empty one. It is valid only during the call. Returns 0, or -errno to stop the search. */
typedef int (*module_symbols_inlined)(void *context, const struct symbol_match *match,
				      const char *list);

/* Answer MATCHES, sorted by address and otherwise 0, from the symbols of MODULE. The sources are,
 * in order: its .symtab; Go's own table; without a .symtab, that of a separate debug file and
 * .gnu_debugdata; .dynsym; the stubs of the PLT. If the file cannot be opened, the dynamic symbols in memory are used. A
 * missing or malformed source is skipped. Matches without an answer get a `start` from .eh_frame.
 * INLINED (may be NULL) gets the inlined functions of Go. Returns 0, -ENOMEM, or the error of NAMED
 * or INLINED. */
int module_symbols_match(const struct module *module, struct symbol_match *matches, size_t count,
			 module_symbols_named named, module_symbols_inlined inlined, void *context);

#endif
