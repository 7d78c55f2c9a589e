/* Bounded cache of symbolized addresses from earlier chunks. */
#ifndef ENGINE_SYMBOLS_SYMBOL_CACHE_H
#define ENGINE_SYMBOLS_SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/symbols/string_pool.h"

/* Entries that stay from one chunk to the next. One chunk may need more. */
#define SYMBOL_CACHE_ENTRIES 4096
#define SYMBOL_CACHE_BYTES   (384 * 1024)

struct symbol_entry {
	uint64_t module;  /* id of the file by content; 0 for code without a file */
	uint64_t address; /* link address; the real address for code without a file */
	uint64_t start;   /* start of the function, in the same form */
	uint64_t scanned; /* code without a file: position up to which its list was read */
	const char *name; /* in the cache's string pool; NULL: not known yet */

	/* The functions that are inlined there, innermost first, each with its NUL, and then an empty one; in the pool.
	 * NULL: none. */
	const char *inlined;
	uint32_t used; /* the last chunk that requested it; 0: the slot is free */
	uint8_t type;
};

/* Initialize with zeros. */
struct symbol_cache {
	struct symbol_entry *entries; /* open addressing */
	size_t capacity;              /* 0 or a power of two */
	size_t count;
	uint32_t chunk;
	struct string_pool strings;
};

/* Find an entry; NULL if there is none. Valid until the next add. */
struct symbol_entry *symbol_cache_find(struct symbol_cache *cache, uint64_t module,
				       uint64_t address);

/* Find an entry, or add one without a name. Returns NULL without memory. */
struct symbol_entry *symbol_cache_add(struct symbol_cache *cache, uint64_t module,
				      uint64_t address);

/* End a chunk. If the bound is exceeded, keep the entries of this chunk that fit and drop all
 * others. Strings move. The cache is emptied when ASPROF_AGENT_MEMORY leaves no room for it. */
void symbol_cache_trim(struct symbol_cache *cache);

void symbol_cache_free(struct symbol_cache *cache);

#endif
