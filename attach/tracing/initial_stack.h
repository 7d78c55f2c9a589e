/* What the attached thread finds at its start, as a new program does on its stack: environment and auxiliary vector. */
#ifndef ATTACH_TRACING_INITIAL_STACK_H
#define ATTACH_TRACING_INITIAL_STACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/tracing/tracee.h"
#include "core/buf.h"

struct initial_stack {
	struct buf auxiliary; /* of the process, in the kernel's format */
	struct buf strings;   /* "NAME=value", each with its end */
	struct buf block;     /* what is written to the process */
	size_t words;         /* offset in the block of what the kernel calls the stack */
};

#define INITIAL_STACK_STRINGS_MAX (4u << 20)
#define INITIAL_STACK_INIT                                        \
	{                                                         \
		.auxiliary = BUF_INIT(TRACEE_AUXILIARY_MAX),      \
		.strings = BUF_INIT(INITIAL_STACK_STRINGS_MAX),   \
		.block = BUF_INIT(12 * INITIAL_STACK_STRINGS_MAX) \
	}

/* Read the vector and the environment of process PID, without ASPROF_AGENT_*, which the user who attaches decides. Append
 * SETTINGS (NULL-terminated). The environment of a process that gained privileges is not used. Returns 0 or -errno. */
int initial_stack_read(struct initial_stack *stack, pid_t pid, char *const *settings);

/* Bytes of the block at most. */
size_t initial_stack_bytes(const struct initial_stack *stack);

/* Write the block for ADDRESS. Returns 0 or -errno. */
int initial_stack_write(struct initial_stack *stack, uintptr_t address);

#endif
