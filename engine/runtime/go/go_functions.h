/* The table that every program of Go has of its functions (.gopclntab): where they begin, what they are
 * called, and at each instruction how far the stack has grown since. Nothing strips it, as Go itself walks
 * stacks by it.
 *
 * Of Go 1.18 and later, on little-endian processors. What is malformed ends a search, and is never a
 * fault. One thread. */
#ifndef ENGINE_RUNTIME_GO_FUNCTIONS_H
#define ENGINE_RUNTIME_GO_FUNCTIONS_H

#include "engine/elf/elf.h"

struct go_functions;

/* Copies SIZE bytes from link address ADDRESS as the loader has relocated them. Returns 0 or -errno. */
typedef int go_memory(void *context, uint64_t address, void *data, size_t size);

/* The table of FILE, which has to stay open. LOADED, with its CONTEXT, is asked where Go's code begins, during
 * this call alone, and the file is mapped at BIAS; NULL, with 0: the file is asked, which tells it of a program
 * that is linked for one address. Returns 0 and sets *OUT (release with go_functions_close), -ENOENT where there is none that is known, or
 * -errno. */
int go_functions_open(struct go_functions **out, struct elf *file, go_memory *loaded, void *context,
		      uint64_t bias);
void go_functions_close(struct go_functions *functions);

enum go_flags {
	GO_OUTERMOST = 1,    /* nobody called it */
	GO_SETS_STACK = 2,   /* it goes to another stack, of which the table says nothing */
	GO_IS_ASSEMBLER = 4, /* (told by Go 1.20 and later) */
};

struct go_function {
	uint64_t start, end;  /* link addresses */
	uint32_t name, stack; /* where to look for these */
	unsigned flags;       /* enum go_flags */
};

size_t go_functions_count(const struct go_functions *functions);

/* The function with NUMBER, in the order of addresses. Returns 0 or -errno. */
int go_functions_get(struct go_functions *functions, size_t number, struct go_function *out);

/* The number of the function at ADDRESS. Returns 0, -ENOENT where none is, or -errno. */
int go_functions_find(struct go_functions *functions, uint64_t address, size_t *number);

/* Copy the name of FUNCTION, cut to SIZE - 1 bytes. Returns its length, or -errno. */
int go_functions_name(struct go_functions *functions, const struct go_function *function,
		      char *text, size_t size);

/* Call VISIT for each stretch of FUNCTION in which the stack has grown by GROWN bytes since its first
 * instruction (its return address lies that much above the stack pointer), from START up to END. */
int go_functions_stack(struct go_functions *functions, const struct go_function *function,
		       void (*visit)(void *context, uint64_t start, uint64_t end, int64_t grown),
		       void *context);

#endif
