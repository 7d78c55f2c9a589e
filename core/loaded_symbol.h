/* Lookup of symbols in the loaded modules: dlsym(3) without libdl and without allocation. Before glibc 2.34,
 * dlsym(3) is in a library that a program may lack. It allocates memory for the error message of a missing name.
 *
 * Any thread, also inside the first malloc of a process; not in signal context. The modules that the program started
 * with are searched without a lock. For other modules the lookup waits while another thread adds or removes one, as
 * dl_iterate_phdr(3) does. */
#ifndef CORE_LOADED_SYMBOL_H
#define CORE_LOADED_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct r_debug;

/* MODULE is the address of the module's dynamic section, which identifies the module. IN_FILE is the loader's name of
 * the module, "" for the program. */
struct loaded_symbol {
	void *address; /* NULL: not found; then all members are 0 */
	size_t size;   /* bytes of its code; 0 when the module does not contain it */
	const void *module;
	const char *in_file;
};

/* Find NAME in the first module after this one that has it, like RTLD_NEXT. The symbol's version is the default for
 * programs without versions. */
struct loaded_symbol loaded_symbol_next(const char *name);

/* The same only in the modules that the program started with, without a lock. */
struct loaded_symbol loaded_symbol_next_at_start(const char *name);

/* Find NAME in the first module that has it, like RTLD_DEFAULT. */
struct loaded_symbol loaded_symbol_first(const char *name);

/* A module's addresses from its first segment to its last. HIGH is 0 when there is no module. */
struct loaded_module {
	uintptr_t low, high;
	const char *name; /* the loader's name; "" for the program */
};

/* Find the module of ADDRESS. Unlike dladdr(3) it does not search the symbols. Takes the lock of the loader's module
 * list. */
struct loaded_module loaded_module_of(const void *address);

/* Find the segment of ADDRESS that is mapped without write permission. HIGH is 0 when there is none. Takes the same
 * lock. */
struct loaded_module loaded_read_only_segment(const void *address);

/* Return the file name of this module from the loader; NULL when it is not known. Never freed. */
const char *loaded_own_file(void);

/* True when a module other than the program and the vDSO is before this one in the loader's list. If the program began
 * with both, that module's constructors run after this module's. */
bool loaded_after_others(void);

/* Return the loader's module list for debuggers, or NULL. */
const struct r_debug *loaded_debug(void);

#endif
