/* Arrays that grow to hold a given index. */
#ifndef PROFILE_BASICS_ARRAY_H
#define PROFILE_BASICS_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Grow ARRAY, which has *CAPACITY elements of SIZE bytes, so that it holds element INDEX. New
 * elements are zero. Returns the array, which may have moved, or NULL when out of memory: then
 * ARRAY and *CAPACITY are unchanged. Release with free(). */
void *array_reserve(void *array, uint32_t *capacity, uint32_t index, size_t size);

#endif
