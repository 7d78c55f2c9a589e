/* Hash index of an array: maps a hash to the numbers of the candidate rows. The caller owns the
 * rows and compares them. */
#ifndef ENGINE_JFR_JFR_INDEX_H
#define ENGINE_JFR_JFR_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define JFR_INDEX_NONE UINT32_MAX

struct jfr_index_slot {
	uint32_t hash;
	uint32_t row; /* plus one; 0: free */
};

/* A zeroed index is empty. */
struct jfr_index {
	struct jfr_index_slot *slots;
	uint32_t size; /* a power of two, or 0 */
	uint32_t used;
};

/* The first row with HASH, or JFR_INDEX_NONE. *CURSOR is the state for jfr_index_next(), which
 * returns the next one. */
uint32_t jfr_index_first(const struct jfr_index *index, uint32_t hash, uint32_t *cursor);
uint32_t jfr_index_next(const struct jfr_index *index, uint32_t hash, uint32_t *cursor);

/* Returns 0, or -ENOMEM without any change. */
int jfr_index_add(struct jfr_index *index, uint32_t hash, uint32_t row);

void jfr_index_reset(struct jfr_index *index); /* keeps the memory */
void jfr_index_free(struct jfr_index *index);

/* Mix VALUE into a running hash, whose start value is arbitrary. */
static inline uint64_t jfr_hash_step(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static inline uint32_t jfr_hash_end(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/* Grow *ARRAY, with room for *CAPACITY elements of SIZE bytes, to at least NEED elements. The
 * capacity doubles, up to MAX elements (NEED is at most MAX). Returns 0 or -ENOMEM. */
int jfr_grow(void *array, uint32_t *capacity, uint32_t need, uint32_t max, size_t size);

#endif
