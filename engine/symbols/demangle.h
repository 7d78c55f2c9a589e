/* C++ and Rust names as people write them: libiberty's, bounded, without arguments.
 *
 * Agent thread only: not for signal context. Names that are made for it take 434 kB of stack, others few. */
#ifndef ENGINE_SYMBOLS_DEMANGLE_H
#define ENGINE_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

struct demangler;

/* Returns 0 and sets *OUT (release with demangler_close), or -errno. */
int demangler_open(struct demangler **out);
void demangler_close(struct demangler *demangler); /* NULL is fine */

/* True for what demangle() may know: the start of a C++ or a Rust symbol. */
bool demangle_wanted(const char *symbol);

/* The name that SYMBOL stands for: of C++ without arguments ("void sort<int>", as async-profiler
 * writes it), of Rust without hashes ("core::fmt::write"). Valid until the next call. NULL when
 * SYMBOL is not mangled, is wrong, or is too long either way: then it goes as it is. */
const char *demangle(struct demangler *demangler, const char *symbol);

/* Give the memory back that names take; the demangler may be used again. */
void demangler_trim(struct demangler *demangler);

#endif
