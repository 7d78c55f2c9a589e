/* Formats a stack as file offsets, from within malloc. */
#ifndef ENGINE_MEMORY_MEM_STACK_TEXT_H
#define ENGINE_MEMORY_MEM_STACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Write "file+0x1234 < file+0x5678 < …" to TEXT, leaf first, with as many frames as fit. The
 * offsets count from the start of the file's mapping. A frame of a script is "function
 * (path:line)". Takes no lock and allocates nothing; preserves errno. Slow: reads
 * /proc/self/maps. */
void mem_stack_text(char *text, size_t size, const uintptr_t *pcs, size_t depth);

#endif
