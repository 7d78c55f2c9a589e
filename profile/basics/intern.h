/* Gives equal byte strings equal small numbers, counted from 1. Names, frames and stacks are kept
 * this way, so each is in memory once. One thread. */
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
	uint32_t count, room;
	uint32_t *slots;
	uint32_t slot_count;
	struct intern_block *blocks; /* where the keys are */
};

#define INTERN_INIT \
	{           \
		0   \
	}

/* The number of KEY, which is copied (8-byte aligned, a NUL put behind it). 0: out of memory. */
uint32_t intern(struct intern *intern, const void *key, size_t length);
uint32_t intern_string(struct intern *intern, const char *string);

/* The key of ID, valid until intern_free; "" for 0. */
const void *intern_key(const struct intern *intern, uint32_t id);
const char *intern_text(const struct intern *intern, uint32_t id);
uint32_t intern_length(const struct intern *intern, uint32_t id);

void intern_free(struct intern *intern);

#endif
