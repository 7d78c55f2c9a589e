/* Symbolization: names for program counters, when a chunk is written.
 *
 * No symbol table is stored. A batch of addresses is matched in one pass over the table, and a
 * bounded cache stores the answers. So memory depends on the samples and not on the size of the
 * program. Agent thread only, like modules.h, which lists the mapped modules. */
#ifndef ENGINE_SYMBOLS_SYMBOLS_H
#define ENGINE_SYMBOLS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"
#include "engine/modules/modules.h"

struct symbol {
	const char *name;         /* "foo::bar", "write@plt", "libx.so+0x1234", "0x7f001234" */
	const char *inlined;      /* functions that are inlined there, as in struct symbol_entry */
	const char *module;       /* base name of the file, "vdso", "jit", or "" when unknown */
	enum jfr_frame_type type; /* native, C++ (also Rust) or JIT */
	uintptr_t start;          /* start of the function, or the address itself */
	uint64_t link_address;    /* link address in the module's file; 0: no file */
};

struct symbols;

/* Returns 0 and sets *OUT (release with symbols_close), or -errno. */
int symbols_open(struct symbols **out);

/* Name COUNT addresses in any order; larger batches are cheaper. Each address must be inside an
 * instruction: for a return address pass the byte before it (symbols_call_site), or the last call
 * of a function is assigned to the next function. Each address gets an answer. Strings in OUT are
 * valid until symbols_release(); equal names are the same pointer. Returns 0, or -ENOMEM. */
int symbols_resolve(struct symbols *symbols, const uintptr_t *pcs, size_t count,
		    struct symbol *out);

/* Write the name of the variable of a loaded module that contains ADDRESS to NAME, SIZE bytes, with
 * "+0x..." if it does not start there. Returns 0, or -ENOENT if there is none. Nothing is cached:
 * each call reads the module's symbols. */
int symbols_variable(struct symbols *symbols, uintptr_t address, char *name, size_t size);

static inline uintptr_t symbols_call_site(uintptr_t return_address)
{
	return return_address - 1;
}

/* Free all data of the current chunk, after it was written. */
void symbols_release(struct symbols *symbols);

void symbols_close(struct symbols *symbols); /* NULL is allowed */

#endif
