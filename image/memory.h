/* The image's memory. */
#ifndef IMAGE_MEMORY_H
#define IMAGE_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

/* From now on the program's forked children get no copy of what the image maps for itself (they have
 * the image anew): a fork has less to do, and a child holds nothing that nobody there knows of. */
void image_memory_not_in_children(void);

/* mmap(2), by which all memory of the image comes. Returns the address, or -errno. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset);

#endif
