/* Search for the GNU build-id in ELF notes. */
#ifndef ENGINE_ELF_BUILD_ID_H
#define ENGINE_ELF_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

/* Find the build-id in the SIZE bytes of NOTES, the content of a PT_NOTE segment or an SHT_NOTE
 * section. Returns its length, at most MAX, and sets *OFFSET to its first byte; 0 if there is none. */
size_t build_id_find(const uint8_t *notes, size_t size, size_t max, size_t *offset);

#endif
