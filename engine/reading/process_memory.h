/* Fault-free reads of this process's memory, which may be unmapped at any moment. */
#ifndef ENGINE_READING_PROCESS_MEMORY_H
#define ENGINE_READING_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Copy LENGTH bytes from ADDRESS. A page that is not mapped, or not readable, gives -EFAULT and
 * never a fault. Returns 0 or -errno. Not for signal context. */
int process_memory_read(uintptr_t address, void *data, size_t length);

#endif
