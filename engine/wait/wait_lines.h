/* Text of waits in recordings. */
#ifndef ENGINE_WAIT_WAIT_LINES_H
#define ENGINE_WAIT_WAIT_LINES_H

#include <stddef.h>

#include "engine/wait/wait.h"

/* Any wait fits. */
#define WAIT_LINES_MAX 512

/* Write WAIT as lines of "key=value": state, cause, call, on, owner, each only if it is known.
 * Returns the length, without a final NUL; 0 for an unknown wait. */
size_t wait_lines(const struct wait *wait, char lines[WAIT_LINES_MAX]);

#endif
