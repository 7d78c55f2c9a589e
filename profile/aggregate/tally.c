/* Hash table of a chunk's samples, added up by the chunk's constants. */
#include "profile/aggregate/tally.h"

#include <stdbool.h>
#include <stdlib.h>

#include "profile/basics/array.h"
#include "profile/basics/hash.h"

static uint32_t tally_key_hash(const struct tally_key *key)
{
	uint64_t hash = hash_add(hash_start(), key->stack);

	hash = hash_add(hash, key->thread);
	hash = hash_add(hash, (uint64_t)key->time_ms);
	hash = hash_add(hash, key->class);
	hash = hash_add(hash, key->context);
	hash = hash_add(hash, key->wait);
	hash = hash_add(hash, key->owner_stack);
	hash = hash_add(hash, (uint64_t)key->metric << 56 ^ (uint64_t)key->leaf << 32 ^ key->state);
	return (uint32_t)(hash >> 32);
}

static bool tally_key_equal(const struct tally_key *a, const struct tally_key *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->class == b->class &&
	       a->context == b->context && a->wait == b->wait && a->owner_stack == b->owner_stack &&
	       a->metric == b->metric && a->leaf == b->leaf && a->state == b->state &&
	       a->time_ms == b->time_ms;
}

/* Returns the slot of KEY; a free one if it is unknown. */
static uint32_t tallies_find_slot(const struct tallies *tallies, const struct tally_key *key)
{
	uint32_t mask = tallies->slot_count - 1, i = tally_key_hash(key) & mask;

	while (tallies->slots[i] &&
	       !tally_key_equal(&tallies->list[tallies->slots[i] - 1].key, key))
		i = (i + 1) & mask;
	return i;
}

static int tallies_grow_slots(struct tallies *tallies)
{
	uint32_t count = tallies->slot_count ? tallies->slot_count * 2 : 256;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -1;
	free(tallies->slots);
	tallies->slots = slots;
	tallies->slot_count = count;
	for (uint32_t i = 0; i < tallies->count; i++) {
		tallies->list[i].slot = tallies_find_slot(tallies, &tallies->list[i].key);
		slots[tallies->list[i].slot] = i + 1;
	}
	return 0;
}

struct tally *tallies_get(struct tallies *tallies, const struct tally_key *key)
{
	uint32_t slot;

	if (tallies->count * 2 >= tallies->slot_count && tallies_grow_slots(tallies))
		return NULL;
	slot = tallies_find_slot(tallies, key);
	if (!tallies->slots[slot]) {
		if (array_reserve(&tallies->list, &tallies->capacity, tallies->count,
				  sizeof(*tallies->list)))
			return NULL;
		tallies->list[tallies->count++] = (struct tally){ .key = *key, .slot = slot };
		tallies->slots[slot] = tallies->count;
	}
	return &tallies->list[tallies->slots[slot] - 1];
}

/* Takes time for the entries, not for all slots: one large chunk may precede many small ones. */
void tallies_clear(struct tallies *tallies)
{
	for (uint32_t i = 0; i < tallies->count; i++)
		tallies->slots[tallies->list[i].slot] = 0;
	tallies->count = 0;
}

void tallies_free(struct tallies *tallies)
{
	free(tallies->list);
	free(tallies->slots);
	*tallies = (struct tallies){ 0 };
}
