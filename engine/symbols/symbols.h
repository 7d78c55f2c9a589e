/* Program counters to names, when a chunk is written.
 *
 * Nothing is kept of a symbol table: a batch of addresses is matched against one pass over it,
 * and a bounded cache remembers the answers. So memory goes by what was sampled and not by the
 * size of the program. Agent thread only, like modules.h, from which it knows what is mapped. */
#ifndef ENGINE_SYMBOLS_SYMBOLS_H
#define ENGINE_SYMBOLS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/jfr/jfr_types.h"
#include "engine/modules/modules.h"

struct symbol {
	const char *name;         /* "foo::bar", "write@plt", "libx.so+0x1234", "0x7f001234" */
	const char *module;       /* base name of the file, "vdso", "jit", or "" when unknown */
	enum jfr_frame_type type; /* native, C++ (also Rust) or JIT */
	uintptr_t start;          /* where the function begins, or the address itself */
	uint64_t link_address;    /* the address as the module's file has it; 0: of no file */
};

struct symbols;

/* Returns 0 and sets *OUT (release with symbols_close), or -errno. */
int symbols_open(struct symbols **out);

/* The same for addresses of a process that is dead: MODULES, the caller's for as long, were mapped there, of
 * several at one address the last; and its number was PID. */
int symbols_open_among(struct symbols **out, const struct module *modules, size_t count, pid_t pid);

/* Name COUNT addresses at once, in any order; the more at once, the cheaper. Each lies within an
 * instruction: of a return address pass the byte before it (symbols_call_site), or the last call
 * of a function is taken for the one behind. Every address gets an answer; the strings in OUT
 * are valid until symbols_release(), and equal names are the same string.
 * Returns 0, or -ENOMEM. */
int symbols_resolve(struct symbols *symbols, const uintptr_t *pcs, size_t count,
		    struct symbol *out);

static inline uintptr_t symbols_call_site(uintptr_t return_address)
{
	return return_address - 1;
}

/* The chunk is written: drop what it alone needed. */
void symbols_release(struct symbols *symbols);

void symbols_close(struct symbols *symbols); /* NULL is fine */

#endif
