/* Is this process one to profile? Decided in the constructor of every process. */
#ifndef CORE_OPTIONS_ADMIT_H
#define CORE_OPTIONS_ADMIT_H

#include <stdbool.h>

#include "core/options/config.h"

/* True when EXECUTABLE (a base name) is one to profile: the first of the comma-separated globs
 * that matches decides, `!glob` leaves out; when none matches it is not. A list of nothing but
 * `!glob`s leaves those out and takes all others. */
bool config_admits(const struct config *config, const char *executable);

#endif
