/* Arrays that grow to hold a given index. */
#include "profile/basics/array.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64

void *array_reserve(void *array, uint32_t *capacity, uint32_t index, size_t size)
{
	size_t new_capacity = *capacity ? *capacity : CAPACITY_MIN;
	void *grown;

	if (index < *capacity)
		return array;
	while (new_capacity <= index)
		new_capacity *= 2;
	grown = new_capacity <= UINT32_MAX ? reallocarray(array, new_capacity, size) : NULL;
	if (!grown)
		return NULL;
	memset((char *)grown + *capacity * size, 0, (new_capacity - *capacity) * size);
	*capacity = (uint32_t)new_capacity;
	return grown;
}
