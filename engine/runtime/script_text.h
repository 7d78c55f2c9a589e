/* Names as an interpreter stores them, which may contain any bytes. All functions are async-signal-safe. */
#ifndef ENGINE_RUNTIME_SCRIPT_TEXT_H
#define ENGINE_RUNTIME_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the character at TEXT, of which LENGTH bytes are available. The result exceeds
 * LENGTH if the character is cut off; 0 if it is not a valid character. */
static inline size_t script_text_character(const char *text, size_t length)
{
	uint8_t first = (uint8_t)text[0];
	size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (first > 0xf4)
		return 0;
	for (size_t i = 1; i < size && i < length; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

/* Turn TEXT, of LENGTH bytes, into one line of UTF-8: invalid characters and control characters
 * become '?'. The text ends at its first NUL; a character that is cut off is removed. Returns false
 * if any character became '?'. */
static inline bool script_text_clean(char *text, size_t length)
{
	bool clean = true;
	size_t size;

	for (size_t i = 0; i < length && text[i]; i += size) {
		size = script_text_character(text + i, length - i);
		if (size > length - i) {
			text[i] = '\0';
			break;
		}
		if (!size || (uint8_t)text[i] < 0x20 || text[i] == 0x7f) {
			text[i] = '?';
			clean = false;
		}
		size += !size;
	}
	return clean;
}

static inline uint64_t script_text_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

/* Combine HASH with TEXT up to its NUL. */
static inline uint64_t script_text_fingerprint(uint64_t hash, const char *text)
{
	uint64_t word = 0;
	size_t i = 0;

	for (; text[i]; i++) {
		word = word << 8 | (uint8_t)text[i];
		if (i % sizeof(word) == sizeof(word) - 1)
			hash = script_text_mix(hash, word);
	}
	return script_text_mix(script_text_mix(hash, word), i);
}

#endif
