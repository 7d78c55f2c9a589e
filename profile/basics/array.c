/* Arrays that grow to hold a given index. */
#include "profile/basics/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64

int array_reserve(void *array_address, uint32_t *capacity, uint32_t index, size_t size)
{
	size_t new_capacity = *capacity ? *capacity : CAPACITY_MIN;
	void *array, *grown;

	if (index < *capacity)
		return 0;
	while (new_capacity <= index)
		new_capacity *= 2;
	memcpy(&array, array_address, sizeof(array));
	grown = new_capacity <= UINT32_MAX ? reallocarray(array, new_capacity, size) : NULL;
	if (!grown)
		return -ENOMEM;
	memset((char *)grown + *capacity * size, 0, (new_capacity - *capacity) * size);
	*capacity = (uint32_t)new_capacity;
	memcpy(array_address, &grown, sizeof(grown));
	return 0;
}
