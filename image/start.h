/* Start parameters from the host's side to the image. They and core/shared.h are all that the two share. The image
 * gets their address as argv[1]. */
#ifndef IMAGE_START_H
#define IMAGE_START_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/options/config.h"
#include "core/shared.h"

/* Detects an image that was built with other headers and must not run. */
#define IMAGE_VERSION \
	(0x61730001u ^ (uint32_t)(sizeof(struct shared) << 8) ^ (uint32_t)sizeof(struct config))

/* Entries of the auxiliary vector that the program was started with, the last of type AT_NULL. */
#define IMAGE_AUXILIARY_MAX 24

struct image_start {
	uint32_t version;
	struct shared *shared;
	const struct config *config;
	const char *
		environment; /* of the program at its start: entries with their NUL, then an empty one */
	const void *const *host; /* functions of the host's side, in the order of host_calls.h */
	uintptr_t auxiliary[IMAGE_AUXILIARY_MAX][2];

	/* Set by the image when it has started: its thread pointer, and the entry of a later thread that continues
	 * with the same memory. The entry does not return. */
	uintptr_t thread_pointer;
	void (*_Atomic again)(void);
};

#endif
