/* What this process runs. */
#ifndef CORE_EXECUTABLE_H
#define CORE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* What was to be executed, as its path was given; NULL where that is not known. */
const char *executable_started_as(void);

/* The base name that this process was started by, a link's own and a script's too, or "unknown"; cut
 * to SIZE - 1 bytes. */
void executable_name(char *name, size_t size);

/* True when this process runs a program of another processor, as qemu-aarch64 does. */
bool process_is_emulator(void);

#endif
