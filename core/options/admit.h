/* Is this process one to profile? Decided in the constructor of every process. */
#ifndef CORE_OPTIONS_ADMIT_H
#define CORE_OPTIONS_ADMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/options/config.h"

/* True when EXECUTABLE (a base name) is one to profile: the first of the comma-separated globs
 * that matches decides, `!glob` leaves out; when none matches it is not. A list of nothing but
 * `!glob`s leaves those out and takes all others. */
bool config_admits(const struct config *config, const char *executable);

/* The base name that this process was started by, a link's own and a script's too, or "unknown"; cut
 * to SIZE - 1 bytes. */
void executable_name(char *name, size_t size);

/* True when this process runs a program of another processor, as qemu-aarch64 does. */
bool process_is_emulator(void);

#endif
