/* Arrays that grow to hold a given index. */
#ifndef PROFILE_BASICS_ARRAY_H
#define PROFILE_BASICS_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Grow an array of *CAPACITY elements of SIZE bytes so that it holds element INDEX. ARRAY_ADDRESS
 * is the address of the pointer to it, which may change. New elements are zero. Returns 0, or -ENOMEM:
 * then the array and *CAPACITY are unchanged. Release with free(). */
int array_reserve(void *array_address, uint32_t *capacity, uint32_t index, size_t size);

#endif
