/* What addresses were found to be called: answers of earlier chunks, within a bound. */
#ifndef ENGINE_SYMBOLS_SYMBOL_CACHE_H
#define ENGINE_SYMBOLS_SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/symbols/string_pool.h"

/* What is kept from one chunk to the next. A chunk itself may need more. */
#define SYMBOL_CACHE_ENTRIES 4096
#define SYMBOL_CACHE_BYTES   (384 * 1024)

struct symbol_entry {
	uint64_t module;  /* which file, by content; 0 for code of no file */
	uint64_t address; /* link address; of code of no file the real one */
	uint64_t start;   /* the function's, likewise */
	uint64_t scanned; /* code of no file: how far its list has been read */
	const char *name; /* of the cache's strings; NULL: not known so far */
	uint32_t used;    /* the last chunk that asked for it; 0: the slot is free */
	uint8_t type;
};

/* Start with all zero. */
struct symbol_cache {
	struct symbol_entry *entries; /* open addressing */
	size_t capacity;              /* 0 or a power of two */
	size_t count;
	uint32_t chunk;
	struct string_pool strings;
};

/* The entry, or NULL. Valid until the next add. */
struct symbol_entry *symbol_cache_find(struct symbol_cache *cache, uint64_t module,
				       uint64_t address);

/* Find it or add it, then without a name. NULL when there is no memory. */
struct symbol_entry *symbol_cache_add(struct symbol_cache *cache, uint64_t module,
				      uint64_t address);

/* A chunk ends: keep what it asked for as far as that fits the bound, forget the rest when the
 * bound is passed. Strings move. */
void symbol_cache_trim(struct symbol_cache *cache);

void symbol_cache_free(struct symbol_cache *cache);

#endif
