/* Decides whether this process is profiled. The constructor of every process calls it. */
#ifndef CORE_OPTIONS_ADMIT_H
#define CORE_OPTIONS_ADMIT_H

#include <stdbool.h>

#include "core/options/config.h"

/* True when EXECUTABLE (a base name) is profiled. The first matching glob of the comma-separated list decides;
 * `!glob` excludes. Without a match the result is false, or true when the list has only `!glob`s. */
bool config_admits(const struct config *config, const char *executable);

#endif
