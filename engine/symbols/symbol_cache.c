/* Bounded cache of symbolized addresses from earlier chunks. */
#include "engine/symbols/symbol_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/account.h"

#define CAPACITY_MIN 256

/* The slot with the key, or the free slot for it. */
static struct symbol_entry *cache_slot(struct symbol_entry *entries, size_t capacity,
				       uint64_t module, uint64_t address)
{
	uint64_t key[2] = { module, address };
	size_t i = (size_t)string_hash(key, sizeof(key), 0) & (capacity - 1);

	while (entries[i].used && (entries[i].address != address || entries[i].module != module))
		i = (i + 1) & (capacity - 1);
	return &entries[i];
}

struct symbol_entry *symbol_cache_find(struct symbol_cache *cache, uint64_t module,
				       uint64_t address)
{
	struct symbol_entry *entry;

	if (!cache->capacity)
		return NULL;
	entry = cache_slot(cache->entries, cache->capacity, module, address);
	if (!entry->used)
		return NULL;
	entry->used = cache->chunk + 1;
	return entry;
}

static bool cache_grow(struct symbol_cache *cache)
{
	size_t capacity = cache->capacity ? cache->capacity * 2 : CAPACITY_MIN;
	struct symbol_entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return false;
	for (size_t i = 0; i < cache->capacity; i++) {
		const struct symbol_entry *entry = &cache->entries[i];

		if (entry->used)
			*cache_slot(entries, capacity, entry->module, entry->address) = *entry;
	}
	free(cache->entries);
	cache->entries = entries;
	cache->capacity = capacity;
	return true;
}

struct symbol_entry *symbol_cache_add(struct symbol_cache *cache, uint64_t module, uint64_t address)
{
	struct symbol_entry *entry = symbol_cache_find(cache, module, address);

	if (entry)
		return entry;
	if (cache->count >= cache->capacity - cache->capacity / 4 && !cache_grow(cache))
		return NULL;
	entry = cache_slot(cache->entries, cache->capacity, module, address);
	memset(entry, 0, sizeof(*entry));
	entry->module = module;
	entry->address = address;
	entry->used = cache->chunk + 1;
	cache->count++;
	return entry;
}

/* Copy ENTRY, a new one, into CACHE. Returns false if the cache is full or without memory. */
static bool cache_store(struct symbol_cache *cache, const struct symbol_entry *entry)
{
	const char *name = NULL, *inlined = NULL;
	struct symbol_entry *copy;

	if (cache->count >= SYMBOL_CACHE_ENTRIES || cache->strings.bytes >= SYMBOL_CACHE_BYTES)
		return false;
	if (entry->name && !(name = string_pool_intern(&cache->strings, entry->name)))
		return false;
	if (entry->inlined && !(inlined = string_pool_add_list(&cache->strings, entry->inlined)))
		return false;
	copy = symbol_cache_add(cache, entry->module, entry->address);
	if (!copy)
		return false;
	*copy = *entry;
	copy->name = name;
	copy->inlined = inlined;
	return true;
}

static void symbol_cache_drop(struct symbol_cache *cache)
{
	uint32_t chunk = cache->chunk;

	symbol_cache_free(cache);
	cache->chunk = chunk;
}

void symbol_cache_trim(struct symbol_cache *cache)
{
	struct symbol_cache kept = { .chunk = cache->chunk };

	if (cache->count > SYMBOL_CACHE_ENTRIES || cache->strings.bytes > SYMBOL_CACHE_BYTES) {
		for (size_t i = 0; i < cache->capacity; i++) {
			const struct symbol_entry *entry = &cache->entries[i];

			if (entry->used == cache->chunk + 1 && !cache_store(&kept, entry))
				break;
		}
		symbol_cache_free(cache);
		*cache = kept;
	}
	if (cache->count && !memory_is_granted(MEMORY_CACHE, 1))
		symbol_cache_drop(cache);
	/* `used` is the chunk number plus one, and 0 marks free slots: empty the cache before it wraps. */
	if (++cache->chunk == UINT32_MAX)
		symbol_cache_free(cache);
}

void symbol_cache_free(struct symbol_cache *cache)
{
	free(cache->entries);
	string_pool_free(&cache->strings);
	memset(cache, 0, sizeof(*cache));
}
