/* Lists that grow as they are filled. */
#include "profile/basics/array.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 64

void *array_reserve(void *list, uint32_t *room, uint32_t index, size_t size)
{
	size_t bigger = *room ? *room : ROOM_LEAST;
	void *grown;

	if (index < *room)
		return list;
	while (bigger <= index)
		bigger *= 2;
	grown = bigger <= UINT32_MAX ? reallocarray(list, bigger, size) : NULL;
	if (!grown)
		return NULL;
	memset((char *)grown + *room * size, 0, (bigger - *room) * size);
	*room = (uint32_t)bigger;
	return grown;
}
