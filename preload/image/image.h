/* Image: the agent's side as a static program with its own C library, in this library's file. It runs in a thread
 * that the program's C library does not know, so the C library behaves as without it. */
#ifndef PRELOAD_IMAGE_IMAGE_H
#define PRELOAD_IMAGE_IMAGE_H

#include <stdbool.h>

#include "core/options/config.h"

/* Start the thread, for agent_start(). It has its own descriptor table and all signals blocked. It waits a moment
 * before it enters the image. Returns 0, -ENOMEM, or another -errno. Not in signal context. */
int image_start_thread(const struct config *config, const char *environment);

/* The same, but an existing thread does the waiting: BY runs the given function on a thread of the C library that
 * has all signals blocked. BY returns false when there is none. */
int image_start_thread_by(bool (*by)(void (*call)(void)), const struct config *config,
			  const char *environment);

/* Reset the state in a forked child: the thread does not exist, and the next one begins with a new image. */
void image_reset_in_child(void);

#endif
