/* Hash of a string. */
#ifndef CORE_TEXT_HASH_H
#define CORE_TEXT_HASH_H

#include <stdint.h>

/* FNV-1a, 32 bits. */
static inline uint32_t text_hash(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash;
}

#endif
