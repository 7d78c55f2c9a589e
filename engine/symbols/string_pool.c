/* Pool of unique strings that are freed together. */
#include "engine/symbols/string_pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 4096
#define SLOTS_MIN   256

struct string_block {
	struct string_block *next;
	size_t size, used;
	char text[];
};

/* FNV-1a, then mixed, since the low bits select the slot. */
uint64_t string_hash(const void *data, size_t length, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t hash = 0xcbf29ce484222325u ^ seed;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash ^ (hash >> 29);
}

static const char **pool_find_slot(const char **slots, size_t count, const char *text,
				   size_t length)
{
	size_t i = (size_t)string_hash(text, length, 0) & (count - 1);

	while (slots[i] && strcmp(slots[i], text) != 0)
		i = (i + 1) & (count - 1);
	return &slots[i];
}

static bool pool_grow(struct string_pool *pool)
{
	size_t count = pool->slot_count ? pool->slot_count * 2 : SLOTS_MIN;
	const char **slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < pool->slot_count; i++) {
		const char *text = pool->slots[i];

		if (text)
			*pool_find_slot(slots, count, text, strlen(text)) = text;
	}
	free(pool->slots);
	pool->slots = slots;
	pool->slot_count = count;
	return true;
}

static char *pool_reserve(struct string_pool *pool, size_t size)
{
	size_t capacity = BLOCK_BYTES - sizeof(struct string_block);
	struct string_block *block = pool->blocks;
	char *room;

	if (!block || block->size - block->used < size) {
		if (capacity < size)
			capacity = size;
		block = malloc(sizeof(*block) + capacity);
		if (!block)
			return NULL;
		block->size = capacity;
		block->used = 0;
		block->next = pool->blocks;
		pool->blocks = block;
		pool->bytes += sizeof(*block) + capacity;
	}
	room = block->text + block->used;
	block->used += size;
	return room;
}

const char *string_pool_intern(struct string_pool *pool, const char *text)
{
	size_t length = strlen(text);
	const char **slot;
	char *copy;

	if (pool->count >= pool->slot_count / 2 && !pool_grow(pool))
		return NULL;
	slot = pool_find_slot(pool->slots, pool->slot_count, text, length);
	if (*slot)
		return *slot;
	copy = pool_reserve(pool, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length + 1);
	*slot = copy;
	pool->count++;
	return copy;
}

const char *string_pool_add_list(struct string_pool *pool, const char *list)
{
	size_t size = 1;
	char *copy;

	while (list[size - 1])
		size += strlen(list + size - 1) + 1;
	copy = pool_reserve(pool, size);
	return copy ? memcpy(copy, list, size) : NULL;
}

void string_pool_free(struct string_pool *pool)
{
	while (pool->blocks) {
		struct string_block *next = pool->blocks->next;

		free(pool->blocks);
		pool->blocks = next;
	}
	free(pool->slots);
	memset(pool, 0, sizeof(*pool));
}
