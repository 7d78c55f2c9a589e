/* Lists that grow as they are filled. */
#ifndef PROFILE_BASICS_ARRAY_H
#define PROFILE_BASICS_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Give LIST, which has room for *ROOM elements of SIZE bytes, room for element INDEX; the new ones
 * are zero. Returns the list, which may have moved, or NULL when out of memory: then LIST is as it
 * was. */
void *array_reserve(void *list, uint32_t *room, uint32_t index, size_t size);

#endif
