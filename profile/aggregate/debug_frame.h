/* A function at an address, with its source location. */
#ifndef PROFILE_AGGREGATE_DEBUG_FRAME_H
#define PROFILE_AGGREGATE_DEBUG_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* Maximum depth of inlined functions; deeper chains are cut. */
#define DEBUG_FRAMES_MAX 64

struct debug_frame {
	const char *name; /* NULL: unknown */
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
};

#endif
