/* Slots of import tables: where a module has the addresses of the functions that it calls. */
#ifndef PRELOAD_INTERPOSE_IMPORT_SLOTS_H
#define PRELOAD_INTERPOSE_IMPORT_SLOTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct import_module {
	uintptr_t base, low, high; /* HIGH: end of its segments */
	const ElfW(Dyn) * dynamic; /* NULL: it has none */
	uintptr_t relro,
		relro_end; /* range that the dynamic linker has write-protected; empty when there is none */
};

/* Set *MODULE to the module of INFO, from dl_iterate_phdr(3). */
void import_module_read(struct import_module *module, const struct dl_phdr_info *info);

/* Called for each slot, with the symbol of its function and the symbol's name. Returns 0 or -errno. */
typedef int import_visitor(const struct import_module *module, void **slot,
			   const ElfW(Sym) * symbol, const char *name, void *data);

/* Call VISIT for each slot of MODULE, which must not be unloaded meanwhile. Returns the first error. */
int import_slots_visit(const struct import_module *module, import_visitor *visit, void *data);

/* Set SLOT to FUNCTION. Other threads may be calling it. Returns 0 or -errno. */
int import_slot_set(const struct import_module *module, void **slot, void *function);

#endif
