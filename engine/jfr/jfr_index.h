/* A hash index over the rows of some array: from a hash to the numbers of the rows that may be
 * meant. The caller keeps the rows and compares them. */
#ifndef ENGINE_JFR_JFR_INDEX_H
#define ENGINE_JFR_JFR_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define JFR_INDEX_NONE UINT32_MAX

struct jfr_index_slot {
	uint32_t hash;
	uint32_t row; /* plus one; 0 is free */
};

/* Zeroed is empty. */
struct jfr_index {
	struct jfr_index_slot *slots;
	uint32_t size; /* a power of two, or 0 */
	uint32_t used;
};

/* The first row with HASH, or JFR_INDEX_NONE; *CURSOR is for jfr_index_next, the one after it. */
uint32_t jfr_index_first(const struct jfr_index *index, uint32_t hash, uint32_t *cursor);
uint32_t jfr_index_next(const struct jfr_index *index, uint32_t hash, uint32_t *cursor);

/* Returns 0 or -ENOMEM, then nothing has changed. */
int jfr_index_add(struct jfr_index *index, uint32_t hash, uint32_t row);

void jfr_index_reset(struct jfr_index *index); /* keeps the memory */
void jfr_index_free(struct jfr_index *index);

/* Mix a value into a running hash, which starts anywhere. */
static inline uint64_t jfr_hash_step(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static inline uint32_t jfr_hash_end(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/* Make room for NEED elements of SIZE bytes in *ARRAY, which has room for *CAPACITY, doubling it
 * but never past MAX elements (NEED is at most MAX). Returns 0 or -ENOMEM. */
int jfr_grow(void *array, uint32_t *capacity, uint32_t need, uint32_t max, size_t size);

#endif
