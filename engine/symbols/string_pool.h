/* Strings kept once each, and freed all at once. */
#ifndef ENGINE_SYMBOLS_STRING_POOL_H
#define ENGINE_SYMBOLS_STRING_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Start with all zero. */
struct string_pool {
	struct string_block *blocks;
	const char **slots; /* open addressing; NULL is free */
	size_t slot_count;  /* 0 or a power of two */
	size_t count;
	size_t bytes; /* held for strings */
};

/* The pool's own copy of TEXT: the same pointer for the same text. Valid until
 * string_pool_free(). NULL when there is no memory. */
const char *string_pool_intern(struct string_pool *pool, const char *text);

/* The pool may be used again. */
void string_pool_free(struct string_pool *pool);

/* A hash for tables like this one. */
uint64_t string_hash(const void *data, size_t length, uint64_t seed);

#endif
