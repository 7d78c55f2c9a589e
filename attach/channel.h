/* Memory between the tracer and the attached code, on the stack of the latter's first thread. The tracer writes it. */
#ifndef ATTACH_CHANNEL_H
#define ATTACH_CHANNEL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_channel {
	uintptr_t start; /* of the memory that the tracer has mapped */
	size_t bytes;

	/* For a program at its beginning, which waits. */
	_Atomic uint32_t released; /* the program may run; a futex, by the attached code */
	pid_t tracer;              /* a child of this process; the program misses its SIGCHLD */
	uint64_t mask;             /* the program's signal mask */

	/* For a program that runs already. */
	uintptr_t region; /* reserved for core/memory/region.h; 0: for a program at its beginning */
	size_t region_bytes;
	_Atomic uint32_t is_named; /* the attached code has begun: a thread has the agent's name */
};

#endif
