/* Decides whether this process is profiled. The constructor of every process calls it. */
#ifndef CORE_OPTIONS_ADMIT_H
#define CORE_OPTIONS_ADMIT_H

#include <stdbool.h>

#include "core/options/config.h"

/* True when EXECUTABLE (a base name) is profiled. The first matching glob of the comma-separated list decides;
 * `!glob` excludes. Without a match the result is false, or true when the list has only `!glob`s. */
bool config_admits(const struct config *config, const char *executable);

/* The first step in a process: read ENVIRONMENT into CONFIG. IS_SECURE: the program gained privileges from its file, so
 * its environment does not count. Returns 0 if this process is profiled, -EPERM if not; otherwise the result of
 * config_read(), with a line in the log. */
int config_begin(struct config *config, char *const *environment, bool is_secure);

#endif
