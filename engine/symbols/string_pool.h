/* Pool of unique strings that are freed together. */
#ifndef ENGINE_SYMBOLS_STRING_POOL_H
#define ENGINE_SYMBOLS_STRING_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Initialize with zeros. */
struct string_pool {
	struct string_block *blocks;
	const char **slots; /* open addressing; NULL: free */
	size_t slot_count;  /* 0 or a power of two */
	size_t count;
	size_t bytes; /* allocated for strings */
};

/* Store TEXT in the pool and return the copy: equal texts return the same pointer. Valid until
 * string_pool_free(). Returns NULL without memory. */
const char *string_pool_intern(struct string_pool *pool, const char *text);

/* Store a copy of LIST: texts, each with its NUL, and then an empty one. Equal lists are stored repeatedly. Valid until
 * string_pool_free(). Returns NULL without memory. */
const char *string_pool_add_list(struct string_pool *pool, const char *list);

/* Free all strings; the pool stays usable. */
void string_pool_free(struct string_pool *pool);

/* Hash for tables like this one. */
uint64_t string_hash(const void *data, size_t length, uint64_t seed);

#endif
