/* The image's memory. */
#ifndef IMAGE_MEMORY_H
#define IMAGE_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

#include "core/shared.h"

/* What the image maps for itself from now on is empty in the program's forked children, which have the image
 * anew: a fork has less to do, the first write behind it is not the agent's to pay for, and a child holds
 * nothing that nobody there knows of. It is there, as handlers of a child that was made past fork(3)
 * may still follow a pointer to it: to a map of modules, which has none then. Until an image begins in that child:
 * AREAS tells what its ancestors' have mapped, which this call gives back, and is told what comes from now on. */
void image_memory_begin(struct image_area areas[IMAGE_AREAS_MAX]);

/* mmap(2), by which all memory of the image comes. Returns the address, or -errno. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset);

#endif
