/* Memory of the image. */
#ifndef IMAGE_MEMORY_H
#define IMAGE_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

/* Start to mark mappings MADV_WIPEONFORK: a forked child sees them empty. They stay mapped there, because a signal
 * handler may follow a pointer to them in a child that was not made by fork(3). In a forked child it first returns the
 * mappings of its ancestors' images to the region. */
void image_memory_begin(void);

/* mmap(2) for the image, in the region where ADDRESS is NULL. Returns the address, or -errno. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset);

#endif
