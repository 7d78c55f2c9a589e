/* Parses /proc/PID/auxv: the auxiliary vector of a process. */
#ifndef CORE_TEXT_AUXV_H
#define CORE_TEXT_AUXV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Set *VALUE to that of KIND (AT_...) in AUXV of LENGTH bytes, whose numbers have SIZE bytes each. Returns false if it is
 * missing, or the size is wrong. */
static inline bool auxv_find(uint64_t *value, const void *auxv, size_t length, size_t size,
			     uint64_t kind)
{
	for (const uint8_t *at = auxv; length >= 2 * size; at += 2 * size, length -= 2 * size) {
		uint64_t key = 0;

		*value = 0;
		/* Little-endian, as all supported machines are. */
		memcpy(&key, at, size);
		memcpy(value, at + size, size);
		if (key > UINT32_MAX) /* two numbers of 4 bytes */
			return false;
		if (key == kind)
			return true;
	}
	return false;
}

#endif
