/* What is mapped where, since when: the program, its libraries and the vDSO.
 *
 * All calls are the agent thread's. Handlers look at the unwind tables alone, through
 * unwind_map.h, and may go on doing so whatever is called here. */
#ifndef ENGINE_MODULES_MODULES_H
#define ENGINE_MODULES_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_map_entry;
struct unwind_table;

struct module {
	uintptr_t start, end; /* its executable mappings, [start, end) */
	uintptr_t bias;       /* load address minus link address */
	uint64_t file_offset; /* of start */
	const char *path;     /* absolute where it could be found out; "[vdso]" for the vDSO */
	uint8_t build_id[32];
	size_t build_id_size;      /* 0: none */
	uint64_t build_id_address; /* by its link */
	uint64_t loaded_ticks;
	uint64_t unloaded_ticks; /* 0: still there */

	/* NULL: no unwind information, no longer there, or not compiled yet. */
	struct unwind_table *table;
	bool readable; /* all of [start, end), for as long as the process lives */
	bool pending;  /* compiled once enough walks came through it, where they can do without */
	struct unwind_map_entry *entry; /* of the published map, while it is there */
};

/* Begin, with what is loaded now. Returns 0 or -errno. */
int modules_open(void);

/* Forget everything. Handlers find no module from then on; tables that one still uses are
 * kept for the next modules_open(). */
void modules_close(void);

/* Look for modules that came or went, and compile the tables that are worth it by now. Returns 1
 * when something changed, 0, or -errno; after an error all known modules are still known. */
int modules_refresh(void);

/* Whether modules_refresh() has something to do now; modules that went are not looked for. Takes
 * two microseconds, and that one takes one for each module. */
bool modules_have_grown(void);

/* The module that has PC, or had it, the newest such; NULL when there is none. Valid until
 * modules_forget(), as are the modules of the list. */
const struct module *modules_find(uintptr_t pc);

/* All modules, those that are gone as well; *LIST is valid until the next call of any
 * function here. Returns how many. */
size_t modules_list(const struct module *const **list);

/* Call VISIT for each module that is there and was loaded later than *SINCE, 0 for all, which becomes when the last of
 * them was. VISIT calls no function here but modules_find(). */
void modules_since(uint64_t *since, void (*visit)(void *context, const struct module *module),
		   void *context);

/* Whether the module that begins at START is there still: the one that was LOADED then, and none in its place. */
bool modules_has(uintptr_t start, uint64_t loaded_ticks);

/* Drop the modules that are gone: the chunk with their samples is written. */
void modules_forget(void);

/* Bytes held for modules, tables and rules. */
size_t modules_memory(void);

#endif
