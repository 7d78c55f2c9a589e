/* Function table of a Go program (.gopclntab): the start and name of each function, and the stack
 * growth at each instruction. Strip tools keep it, since Go itself unwinds with it.
 *
 * Supports Go 1.18 and later on little-endian processors. Malformed data ends a search and never
 * causes a fault. One thread. */
#ifndef ENGINE_RUNTIME_GO_FUNCTIONS_H
#define ENGINE_RUNTIME_GO_FUNCTIONS_H

#include "engine/elf/elf.h"

struct go_functions;

/* Copy SIZE bytes from link address ADDRESS, as the loader relocated them. Returns 0 or -errno. */
typedef int go_memory(void *context, uint64_t address, void *data, size_t size);

/* Open the table of FILE, which must stay open. FILE is mapped at BIAS. LOADED, with its CONTEXT,
 * is called only during this call and reads the address of Go's code. If LOADED is NULL and BIAS is
 * 0, the address comes from the file, which has it only if linked for a fixed address. Returns 0
 * and sets *OUT (release with go_functions_close), -ENOENT if there is no known table, or -errno. */
int go_functions_open(struct go_functions **out, struct elf *file, go_memory *loaded, void *context,
		      uint64_t bias);
void go_functions_close(struct go_functions *functions);

enum go_flags {
	GO_OUTERMOST = 1,    /* it has no caller */
	GO_SETS_STACK = 2,   /* it switches to another stack, which the table does not describe */
	GO_IS_ASSEMBLER = 4, /* (set by Go 1.20 and later) */
};

struct go_function {
	uint64_t start, end;         /* link addresses */
	uint32_t name, stack, entry; /* positions of these in the table */
	unsigned flags;              /* enum go_flags */
};

size_t go_functions_count(const struct go_functions *functions);

/* Get the function NUMBER, in the order of addresses. Returns 0 or -errno. */
int go_functions_get(struct go_functions *functions, size_t number, struct go_function *out);

/* Set *NUMBER to the function at ADDRESS. Returns 0, -ENOENT if there is none, or -errno. */
int go_functions_find(struct go_functions *functions, uint64_t address, size_t *number);

/* Copy the name of FUNCTION, cut to SIZE - 1 bytes. Returns its length, or -errno. */
int go_functions_name(struct go_functions *functions, const struct go_function *function,
		      char *text, size_t size);

/* Call VISIT for each range of FUNCTION, from START to END, with constant stack growth. GROWN is
 * the growth in bytes since the first instruction: the return address is at the stack pointer +
 * GROWN. */
int go_functions_stack(struct go_functions *functions, const struct go_function *function,
		       void (*visit)(void *context, uint64_t start, uint64_t end, int64_t grown),
		       void *context);

/* Find the data about inlined functions, of Go 1.20 and later. LOADED, CONTEXT and BIAS are as for go_functions_open().
 * Returns 0, -ENOENT if it is not known, or -errno. */
int go_functions_find_inlined(struct go_functions *functions, go_memory *loaded, void *context,
			      uint64_t bias);

/* Write the names of the functions that are inlined in FUNCTION at ADDRESS to LIST, innermost first, each with its NUL,
 * and then an empty one. FUNCTION itself is not among them. Without room in SIZE bytes the outer ones are omitted. Returns
 * their number, or -errno. */
int go_functions_inlined(struct go_functions *functions, const struct go_function *function,
			 uint64_t address, char *list, size_t size);

#endif
