/* The agent's side: a static program with a C library of its own that lies in this library's file. It is
 * run in a thread that the program's C library does not know of, so that this goes on as if there was
 * none. */
#ifndef PRELOAD_IMAGE_IMAGE_H
#define PRELOAD_IMAGE_IMAGE_H

#include <stdbool.h>

#include "core/options/config.h"

/* Start the thread, as agent_start() has it. It has a descriptor table of its own, and every signal
 * blocked; it waits a moment, and only then enters the image. Returns 0, -ENOMEM, or another -errno.
 * Not in signal context. */
int image_start_thread(const struct config *config, const char *environment);

/* The same, and a thread that is there already waits that moment: BY has the call made that it is given on one of the C
 * library's that has all signals blocked; false where it cannot. */
int image_start_thread_by(bool (*by)(void (*call)(void)), const struct config *config,
			  const char *environment);

/* In a forked child: the thread is not there, and the next one begins with a new image. */
void image_reset_in_child(void);

#endif
