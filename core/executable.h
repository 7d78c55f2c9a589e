/* The executable of this process: path, name, kind. */
#ifndef CORE_EXECUTABLE_H
#define CORE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Return the path of the executable as it was passed to execve(2); NULL when it is not known. */
const char *executable_started_as(void);

/* Write the base name that this process was started by: the name of a link or of a script, if it was started by one.
 * "unknown" when it is not known. The name is truncated to SIZE - 1 bytes. */
void executable_name(char *name, size_t size);

/* True when this process emulates another processor, as qemu-aarch64 does. */
bool process_is_emulator(void);

#endif
