/* Fault-free reads of this process's memory, which may be unmapped at any moment. */
#ifndef ENGINE_READING_PROCESS_MEMORY_H
#define ENGINE_READING_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Copy LENGTH bytes from ADDRESS. A page that is not mapped gives -EFAULT and never a fault, as
 * does one that is not readable, unless the kernel reads it for a tracer. Returns 0 or -errno. Not for signal context. */
int process_memory_read(uintptr_t address, void *data, size_t length);

#endif
