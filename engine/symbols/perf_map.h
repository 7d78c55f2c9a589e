/* Names of code that is made at run time, from the list that its maker writes to
 * /tmp/perf-PID.map: node --perf-basic-prof, python -X perf, and others. */
#ifndef ENGINE_SYMBOLS_PERF_MAP_H
#define ENGINE_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/symbols/string_pool.h"
#include "engine/symbols/symbol_cache.h"

/* How far the list of one process was read. Start with all zero. */
struct perf_map {
	uint64_t device, inode; /* another file: begin anew */
	uint64_t end;           /* behind the last whole line that was there */
};

/* Complete ENTRIES, sorted by address, whose names are taken into STRINGS. Only what was added
 * to the file since an entry was looked up is read for it; of lines that both have an address
 * the later one counts, as code moves. PATH must be a regular file of this user, not a link:
 * anybody may put files there. Returns 0, or -errno: then entries stay as they are. */
int perf_map_resolve(struct perf_map *map, const char *path, struct symbol_entry **entries,
		     size_t count, struct string_pool *strings);

/* The path for process PID, 0 being this one; SIZE bytes at most. */
void perf_map_path(char *path, size_t size, pid_t pid);

#endif
