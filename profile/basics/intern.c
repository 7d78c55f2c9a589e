/* Intern table: a hash table over keys in memory blocks that never move. */
#include "profile/basics/intern.h"

#include <stdlib.h>
#include <string.h>

#include "profile/basics/hash.h"

#define BLOCK_SIZE (64u << 10)

struct intern_block {
	struct intern_block *next;
	size_t used, size;
	uint64_t bytes[];
};

static uint32_t intern_hash(const void *key, size_t length)
{
	const uint8_t *p = key;
	uint64_t hash = hash_add(hash_start(), length), word;

	for (; length >= 8; length -= 8, p += 8) {
		memcpy(&word, p, 8);
		hash = hash_add(hash, word);
	}
	word = 0;
	if (length)
		memcpy(&word, p, length);
	return (uint32_t)(hash_add(hash, word) >> 32);
}

static void *intern_copy_key(struct intern *intern, const void *key, size_t length)
{
	size_t need = (length + 8) & ~(size_t)7; /* includes a NUL */
	struct intern_block *block = intern->blocks;
	uint8_t *place;

	if (!block || block->size - block->used < need) {
		size_t size = need > BLOCK_SIZE ? need : BLOCK_SIZE;

		block = malloc(sizeof(*block) + size);
		if (!block)
			return NULL;
		*block = (struct intern_block){ .next = intern->blocks, .size = size };
		intern->blocks = block;
	}
	place = (uint8_t *)block->bytes + block->used;
	block->used += need;
	if (length)
		memcpy(place, key, length);
	memset(place + length, 0, need - length);
	return place;
}

static int intern_grow_slots(struct intern *intern)
{
	uint32_t count = intern->slot_count ? intern->slot_count * 2 : 64;
	uint32_t *slots = calloc(count, sizeof(*slots)), i;

	if (!slots)
		return -1;
	for (uint32_t id = 1; id <= intern->count; id++) {
		for (i = intern->entries[id].hash & (count - 1); slots[i];)
			i = (i + 1) & (count - 1);
		slots[i] = id;
	}
	free(intern->slots);
	intern->slots = slots;
	intern->slot_count = count;
	return 0;
}

static int intern_grow_entries(struct intern *intern)
{
	uint32_t capacity = intern->capacity ? intern->capacity * 2 : 64;
	struct intern_entry *entries = realloc(intern->entries, capacity * sizeof(*entries));

	if (!entries)
		return -1;
	intern->entries = entries;
	intern->capacity = capacity;
	return 0;
}

/* Returns the slot of KEY; a free one if it is unknown. */
static uint32_t *intern_slot(const struct intern *intern, const void *key, size_t length,
			     uint32_t hash)
{
	uint32_t i = hash & (intern->slot_count - 1), id;

	for (; (id = intern->slots[i]); i = (i + 1) & (intern->slot_count - 1)) {
		const struct intern_entry *entry = &intern->entries[id];

		/* An empty key may be NULL, which memcmp() does not accept. */
		if (entry->hash == hash && entry->length == length &&
		    (!length || !memcmp(entry->key, key, length)))
			break;
	}
	return &intern->slots[i];
}

uint32_t intern_find(const struct intern *intern, const void *key, size_t length)
{
	return intern->slot_count ? *intern_slot(intern, key, length, intern_hash(key, length)) : 0;
}

uint32_t intern(struct intern *intern, const void *key, size_t length)
{
	uint32_t hash = intern_hash(key, length), *slot;
	const void *copy;

	if ((intern->count + 1) * 2 > intern->slot_count && intern_grow_slots(intern))
		return 0;
	slot = intern_slot(intern, key, length, hash);
	if (*slot)
		return *slot;
	if (intern->count + 1 >= intern->capacity && intern_grow_entries(intern))
		return 0;
	copy = intern_copy_key(intern, key, length);
	if (!copy)
		return 0;
	*slot = ++intern->count;
	intern->entries[*slot] = (struct intern_entry){ copy, (uint32_t)length, hash };
	return *slot;
}

uint32_t intern_string(struct intern *intern_, const char *string)
{
	return intern(intern_, string, strlen(string));
}

const void *intern_key(const struct intern *intern, uint32_t id)
{
	/* As large as the largest interned struct. */
	static const uint64_t none[8];

	return id && id <= intern->count ? intern->entries[id].key : none;
}

const char *intern_text(const struct intern *intern, uint32_t id)
{
	return intern_key(intern, id);
}

uint32_t intern_length(const struct intern *intern, uint32_t id)
{
	return id && id <= intern->count ? intern->entries[id].length : 0;
}

void intern_free(struct intern *intern)
{
	struct intern_block *block = intern->blocks, *next;

	for (; block; block = next) {
		next = block->next;
		free(block);
	}
	free(intern->entries);
	free(intern->slots);
	*intern = (struct intern)INTERN_INIT;
}
