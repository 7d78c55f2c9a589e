/* Names of generated code, from the list that its generator writes to /tmp/perf-PID.map: node
 * --perf-basic-prof, python -X perf, and others. */
#ifndef ENGINE_SYMBOLS_PERF_MAP_H
#define ENGINE_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "engine/symbols/string_pool.h"
#include "engine/symbols/symbol_cache.h"

/* State of reading the list of one process. Initialize with zeros. */
struct perf_map {
	uint64_t device, inode; /* a different file is read from its start */
	uint64_t end;           /* end of its last complete line */
};

/* Complete ENTRIES, sorted by address, and store their names in STRINGS. For each entry, only the
 * part of the file after its last lookup is read. If two lines contain an address, the later one
 * counts, since code moves. perf_list_open() opens PATH. Returns 0, or -errno with the entries unchanged. */
int perf_map_resolve(struct perf_map *map, const char *path, struct symbol_entry **entries,
		     size_t count, struct string_pool *strings);

#endif
