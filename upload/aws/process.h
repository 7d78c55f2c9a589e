/* Runs a helper program without the host program noticing. */
#ifndef UPLOAD_AWS_PROCESS_H
#define UPLOAD_AWS_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/environment.h"

/* Run COMMAND by /bin/sh with ENVIRONMENT, but for the preload and its options, and append what
 * it prints to OUT. The child sends no SIGCHLD and is not seen by the program's wait(2). It gets none
 * of the program's descriptors, signal handlers, terminal signals and ignored signals, and does not
 * outlive the calling thread, which must have every signal blocked.
 *
 * Returns 0, -ETIMEDOUT after TIMEOUT_MS, -ECANCELED soon after *STOP (NULL: never) is true, -ECHILD
 * when it fails, or -errno. One that is given up is killed, with its process group. */
int process_read(const char *command, const struct environment *environment, uint64_t timeout_ms,
		 const atomic_bool *stop, struct buf *out);

#endif
