/* Intern table: maps equal byte strings to the same small ID, counted from 1. Names, frames and
 * stacks are interned, so each is in memory once. Not thread-safe: one thread uses a table. */
#ifndef PROFILE_BASICS_INTERN_H
#define PROFILE_BASICS_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern_entry {
	const void *key;
	uint32_t length, hash;
};

struct intern {
	struct intern_entry *entries; /* [0] is unused */
	uint32_t count, capacity;
	uint32_t *slots; /* hash table of IDs; 0: free slot */
	uint32_t slot_count;
	struct intern_block *blocks; /* memory of the keys; keys never move */
};

#define INTERN_INIT \
	{           \
		0   \
	}

/* Returns the ID of KEY; 0: out of memory. A new key is copied, 8-byte aligned and
 * NUL-terminated. */
uint32_t intern(struct intern *intern, const void *key, size_t length);
uint32_t intern_string(struct intern *intern, const char *string);

/* Returns the ID of KEY; 0: it is unknown. */
uint32_t intern_find(const struct intern *intern, const void *key, size_t length);

/* Return the key of ID, valid until intern_free(). ID 0 and unknown IDs give "", zero-filled for as
 * many bytes as the largest interned struct. The length then is 0. */
const void *intern_key(const struct intern *intern, uint32_t id);
const char *intern_text(const struct intern *intern, uint32_t id);
uint32_t intern_length(const struct intern *intern, uint32_t id);

void intern_free(struct intern *intern);

#endif
