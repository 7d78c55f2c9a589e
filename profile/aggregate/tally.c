/* Hash table of a chunk's samples, added up by the chunk's constants. */
#include "profile/aggregate/tally.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint32_t tally_key_hash(const struct tally_key *key)
{
	uint64_t hash = key->stack * 0x9E3779B97F4A7C15u;

	hash = (hash ^ key->thread) * 0xff51afd7ed558ccdu;
	hash = (hash ^ (hash >> 31) ^ (uint64_t)key->time_ms) * 0x9E3779B97F4A7C15u;
	hash = (hash ^ (hash >> 29) ^ key->class ^ key->context << 20 ^
		(uint64_t)key->metric << 56 ^ (uint64_t)key->state << 48) *
	       0xff51afd7ed558ccdu;
	hash = (hash ^ key->wait ^ key->owner_stack << 24) * 0x9E3779B97F4A7C15u;
	return (uint32_t)(hash >> 32);
}

static bool tally_key_equal(const struct tally_key *a, const struct tally_key *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->class == b->class &&
	       a->context == b->context && a->wait == b->wait && a->owner_stack == b->owner_stack &&
	       a->metric == b->metric && a->leaf == b->leaf && a->state == b->state &&
	       a->time_ms == b->time_ms;
}

static struct tally *tallies_find(const struct tallies *tallies, const struct tally_key *key)
{
	uint32_t mask = tallies->capacity - 1, i = tally_key_hash(key) & mask;

	while (tallies->table[i].key.metric && !tally_key_equal(&tallies->table[i].key, key))
		i = (i + 1) & mask;
	return &tallies->table[i];
}

static int tallies_grow(struct tallies *tallies)
{
	struct tallies bigger = { .count = tallies->count,
				  .capacity = tallies->capacity ? tallies->capacity * 2 : 256 };

	bigger.table = calloc(bigger.capacity, sizeof(*bigger.table));
	if (!bigger.table)
		return -1;
	for (uint32_t i = 0; i < tallies->capacity; i++)
		if (tallies->table[i].key.metric)
			*tallies_find(&bigger, &tallies->table[i].key) = tallies->table[i];
	free(tallies->table);
	*tallies = bigger;
	return 0;
}

struct tally *tallies_get(struct tallies *tallies, const struct tally_key *key)
{
	struct tally *tally;

	if (tallies->count * 2 >= tallies->capacity && tallies_grow(tallies))
		return NULL;
	tally = tallies_find(tallies, key);
	if (!tally->key.metric) {
		tally->key = *key;
		tallies->count++;
	}
	return tally;
}

void tallies_clear(struct tallies *tallies)
{
	if (tallies->count)
		memset(tallies->table, 0, tallies->capacity * sizeof(*tallies->table));
	tallies->count = 0;
}

void tallies_free(struct tallies *tallies)
{
	free(tallies->table);
	*tallies = (struct tallies){ 0 };
}
