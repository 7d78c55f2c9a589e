/* List of mapped modules and their load times: the program, its libraries and the vDSO.
 *
 * All functions are for the agent's thread. Handlers only read the unwind tables, through
 * unwind_map.h; all functions here are safe while they do so. */
#ifndef ENGINE_MODULES_MODULES_H
#define ENGINE_MODULES_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_map_entry;
struct unwind_table;

/* Version of the file at a path; all zeros if it is not known. */
struct file_version {
	uint64_t device, inode, changed_ns;
};

struct module {
	uintptr_t start, end; /* its executable mappings, [start, end) */
	uintptr_t bias;       /* load address minus link address */
	uintptr_t data_end;   /* end of its last mapping; its data is mostly after END */
	uint64_t file_offset; /* file offset of start */
	const char *path;     /* absolute if it could be determined; "[vdso]" for the vDSO */
	uint8_t build_id[32];
	size_t build_id_size;      /* 0: none */
	uint64_t build_id_address; /* link address */
	struct file_version file;  /* of the file at PATH, only without a build-id */
	uint64_t loaded_ticks;
	uint64_t unloaded_ticks; /* 0: still loaded */

	/* NULL: no unwind information, unloaded, or not compiled yet. */
	struct unwind_table *table;
	bool readable; /* handlers may read all of [start, end) while the process lives */
	bool pending; /* its table is compiled after enough walks needed it; until then they use cfi_lookup() */
	struct unwind_map_entry *entry; /* its entry in the published map, while it is loaded */
};

/* Start with the modules that are loaded now. Returns 0 or -errno. */
int modules_open(void);

/* Remove all modules. Handlers then find none. Tables that a handler still uses are kept until the
 * next modules_open(). */
void modules_close(void);

/* Find loaded and unloaded modules, and compile the tables that are due. Returns 1 if something
 * changed, 0 if not, or -errno. After an error the list still has all known modules. */
int modules_refresh(void);

/* Whether modules_refresh() has work to do; unloaded modules are not detected. Takes two
 * microseconds; a refresh takes one for each module. */
bool modules_have_grown(void);

/* The module that contains PC, or the newest unloaded one that did; NULL if there is none. The
 * result, like the modules of the list, is valid until modules_forget(). */
const struct module *modules_find(uintptr_t pc);

/* The loaded module whose data after its code contains ADDRESS, or NULL. */
const struct module *modules_find_data(uintptr_t address);

/* All modules, including unloaded ones; *LIST is valid until the next call of any function here.
 * Returns their number. */
size_t modules_list(const struct module *const **list);

/* Call VISIT for each loaded module that was loaded later than *SINCE (0: all), and set *SINCE to
 * the newest load time. VISIT may call only modules_find() of these functions. */
void modules_since(uint64_t *since, void (*visit)(void *context, const struct module *module),
		   void *context);

/* Whether the module that begins at START is still loaded and has the load time LOADED_TICKS. */
bool modules_has(uintptr_t start, uint64_t loaded_ticks);

/* Remove the unloaded modules, after the chunk with their samples was written. */
void modules_forget(void);

/* Bytes of memory for modules, tables and rules. */
size_t modules_memory(void);

#endif
