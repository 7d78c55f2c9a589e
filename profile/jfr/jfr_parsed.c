/* Lookup of types and constants in an open chunk. */
#include "profile/jfr/jfr_parsed.h"

#include <string.h>

#include "profile/basics/hash.h"

struct jfr_type *jfr_type_by_name(const struct jfr_chunk *chunk, const char *name)
{
	for (size_t i = 0; i < chunk->type_count; i++)
		if (!strcmp(chunk->types[i].name, name))
			return &chunk->types[i];
	return NULL;
}

struct jfr_type *jfr_type_by_id(const struct jfr_chunk *chunk, uint64_t id)
{
	if (id < JFR_SMALL_ID)
		return chunk->by_id[id] ? &chunk->types[chunk->by_id[id] - 1] : NULL;
	for (size_t i = 0; i < chunk->type_count; i++)
		if ((uint64_t)chunk->types[i].id == id)
			return &chunk->types[i];
	return NULL;
}

size_t jfr_pool_slot(const struct jfr_pool *pool, uint64_t key)
{
	size_t mask = pool->capacity - 1, i;

	i = (size_t)(hash_add(hash_start(), key) >> 32) & mask;
	while (pool->table[i].at && pool->table[i].key != key)
		i = (i + 1) & mask;
	return i;
}

struct jfr_constant *jfr_pool_find(const struct jfr_pool *pool, uint64_t key)
{
	struct jfr_constant *constant;

	if (!pool->capacity)
		return NULL;
	constant = &pool->table[jfr_pool_slot(pool, key)];
	return constant->at ? constant : NULL;
}
