/* Memory of the image: replaces musl's mmap(), munmap() and mremap(), also for malloc and thread stacks.
 *
 * The mappings are in the agent's address region (core/memory/region.h). Their bytes are counted, and mappings above
 * ASPROF_AGENT_MEMORY fail with ENOMEM (core/memory/account.h). */
#ifndef IMAGE_MEMORY_H
#define IMAGE_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

/* Begin the life of an image, in a new process or in a forked child:
 *
 * * Return the mappings of the ancestors' images to the region, where there are any, and count bytes from 0.
 * * From now on apply the limit, and mark each new mapping MADV_WIPEONFORK: a forked child sees it empty. It stays mapped
 *   there, because a signal handler may follow a pointer to it in a child that was not made by fork(3). */
void image_memory_begin(void);

/* mmap(2) for the image, in the region where ADDRESS is NULL. Returns the address, or -errno; -ENOMEM also above the
 * limit. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset);

#endif
