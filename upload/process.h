/* Runs a helper program without the host program noticing. */
#ifndef UPLOAD_PROCESS_H
#define UPLOAD_PROCESS_H

#include <stdint.h>

#include "core/buf.h"
#include "upload/environment.h"

/* Run COMMAND by /bin/sh with ENVIRONMENT, but for the preload and its options, and append what
 * it prints to OUT. The child sends no SIGCHLD and is not seen by the program's wait(2).
 * Returns 0, -ETIMEDOUT after TIMEOUT_MS, -ECHILD when it fails, or -errno. */
int process_read(const char *command, const struct environment *environment, uint64_t timeout_ms,
		 struct buf *out);

#endif
