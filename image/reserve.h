/* Room for the agent in a program whose address space is limited (RLIMIT_AS) and used up: what such a program did is
 * what is looked for in its last report. Only the image's threads come here. */
#ifndef IMAGE_RESERVE_H
#define IMAGE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/shared.h"

/* Take it, where there is a limit. AREA is told of it. */
void reserve_begin(struct image_area *area);

/* As mmap(2), somewhere in the reserve. Returns the address, or -ENOMEM. */
long reserve_map(size_t length, int protection, int flags, int fd, off_t offset);

/* Whether ADDRESS is in it. */
bool reserve_has(const void *address);

/* Give a mapping of the reserve back, all of it. */
void reserve_unmap(void *address, size_t length);

#endif
