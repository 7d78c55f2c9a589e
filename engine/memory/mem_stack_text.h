/* Where in the program's files a stack lies, in words, from within malloc. */
#ifndef ENGINE_MEMORY_MEM_STACK_TEXT_H
#define ENGINE_MEMORY_MEM_STACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Write "file+0x1234 < file+0x5678 < …" into TEXT, as many of the frames as fit, leaf first; the
 * offsets are from where the file begins in memory. Of a script "function (path:line)". Takes no lock and allocates nothing; reads
 * /proc/self/maps, so it takes a while. errno is not touched. */
void mem_stack_text(char *text, size_t size, const uintptr_t *pcs, size_t depth);

#endif
