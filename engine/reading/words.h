/* Reads numbers from copied bytes of any alignment. Async-signal-safe. */
#ifndef ENGINE_READING_WORDS_H
#define ENGINE_READING_WORDS_H

#include <stdint.h>
#include <string.h>

static inline uintptr_t word_at(const uint8_t *bytes, unsigned offset)
{
	uintptr_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static inline uint32_t half_at(const uint8_t *bytes, unsigned offset)
{
	uint32_t half;

	memcpy(&half, bytes + offset, sizeof(half));
	return half;
}

#endif
