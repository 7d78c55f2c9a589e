/* The executable of this process: path, name, kind. And whether the process has changed its root directory. */
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

/* Remember the root directory, in the constructor. */
void process_root_capture(void);

/* True when the calling thread has another root directory than the remembered one. A forked child may call chroot(2)
 * before its agent starts: the agent must leave no directories there. Any thread; errno is preserved. */
bool process_root_has_changed(void);

#endif
