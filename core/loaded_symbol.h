/* Functions of the modules in this process, found as dlsym(3) finds them, but without it: that is in another
 * library before glibc 2.34, which a program need not have, and it allocates, to say that there is no such
 * name.
 *
 * From any thread, and also from within the first malloc of a process; not in signal context. Where the modules
 * that the program began with have no such name, and there are others, this waits for who is just adding or
 * taking away one, as dl_iterate_phdr(3) does. */
#ifndef CORE_LOADED_SYMBOL_H
#define CORE_LOADED_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct r_debug;

struct loaded_symbol {
	void *address; /* NULL: there is none */
	size_t size;   /* bytes of its code, where its module tells; else 0 */
};

/* NAME in the first module behind this one that has it, as with RTLD_NEXT: in its version for programs that
 * name none. */
struct loaded_symbol loaded_symbol_next(const char *name);

/* NAME in the first module that has it, as with RTLD_DEFAULT. */
struct loaded_symbol loaded_symbol_first(const char *name);

/* From its first segment to its last; HIGH is 0 where there is none. */
struct loaded_module {
	uintptr_t low, high;
	const char *name; /* the loader's: "" is the program */
};

/* The module that ADDRESS lies in. (dladdr(3) looks through all of its symbols.) Holds the lock of the list of
 * modules meanwhile. */
struct loaded_module loaded_module_of(const void *address);

/* The file of this module, as the loader names it; NULL where that is not known. Valid for ever. */
const char *loaded_own_file(void);

/* The loader's list of modules, as debuggers see it; NULL: there is none. */
const struct r_debug *loaded_debug(void);

#endif
