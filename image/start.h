/* What the program's side hands to the image as it starts it: the one thing that both know of each other,
 * beside core/shared.h. The image gets its address as argv[1]. */
#ifndef IMAGE_START_H
#define IMAGE_START_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/options/config.h"
#include "core/shared.h"

/* Told apart from an image that was built with other headers, which must not run. */
#define IMAGE_VERSION \
	(0x61730001u ^ (uint32_t)(sizeof(struct shared) << 8) ^ (uint32_t)sizeof(struct config))

/* Entries of the auxiliary vector that the program was started with, the last of type AT_NULL. */
#define IMAGE_AUXILIARY_MAX 24

struct image_start {
	uint32_t version;
	struct shared *shared;
	const struct config *config;
	const char *environment; /* as the program began with it: entries, each with its NUL, and an
				   * empty one */
	const void *const *host; /* functions of the program's side, in the order of host_calls.h */
	uintptr_t auxiliary[IMAGE_AUXILIARY_MAX][2];

	/* Set by the image once it has begun: where its C library keeps the thread, and what a later
	 * thread calls to go on with the same memory. That does not return. */
	uintptr_t thread_pointer;
	void (*_Atomic again)(void);
};

#endif
