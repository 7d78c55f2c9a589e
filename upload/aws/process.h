/* Runs a helper program invisibly to the host program. */
#ifndef UPLOAD_AWS_PROCESS_H
#define UPLOAD_AWS_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/environment.h"

/* Run COMMAND by /bin/sh with ENVIRONMENT, minus the preload and its options. Append its output
 * to OUT.
 *
 * The child sends no SIGCHLD, and the program's wait(2) does not report it. It inherits no
 * descriptors, signal handlers, ignored signals or terminal signals of the program. It ends with
 * the calling thread at the latest; that thread must block all signals.
 *
 * Returns 0, -ETIMEDOUT after TIMEOUT_MS, -ECANCELED soon after *STOP (NULL: never) is true,
 * -ECHILD if the command fails, or another -errno. On a timeout or stop its process group is
 * killed. */
int process_read(const char *command, const struct environment *environment, uint64_t timeout_ms,
		 const atomic_bool *stop, struct buf *out);

#endif
