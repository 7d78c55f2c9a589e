/* Demangler for C++ and Rust names: libiberty's, bounded, without function arguments.
 *
 * Agent thread only: not for signal context. A malicious name takes up to 434 kB of stack, other
 * names little. */
#ifndef ENGINE_SYMBOLS_DEMANGLE_H
#define ENGINE_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

struct demangler;

/* Returns 0 and sets *OUT (release with demangler_close), or -errno. */
int demangler_open(struct demangler **out);
void demangler_close(struct demangler *demangler); /* NULL is allowed */

/* Whether SYMBOL starts like a C++ or Rust symbol, so that demangle() may decode it. */
bool demangle_wanted(const char *symbol);

/* Demangle SYMBOL: C++ without arguments ("void sort<int>", as async-profiler writes it), Rust
 * without hashes ("core::fmt::write"). Valid until the next call. Returns NULL if SYMBOL is not
 * mangled, is malformed, or if it or the name is too long; the caller then uses SYMBOL itself. */
const char *demangle(struct demangler *demangler, const char *symbol);

/* Free the memory for names; the demangler stays usable. */
void demangler_trim(struct demangler *demangler);

#endif
