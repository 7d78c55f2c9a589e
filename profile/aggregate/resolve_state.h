/* State of a resolver: the chunk whose constants are resolved, and the profile that they are added
 * to. */
#ifndef PROFILE_AGGREGATE_RESOLVE_STATE_H
#define PROFILE_AGGREGATE_RESOLVE_STATE_H

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"
#include "profile/aggregate/wait_looks.h"
#include "profile/jfr/thread_stacks.h"

struct resolve {
	struct profile *profile;
	const struct query *query;
	struct jfr_chunk *chunk;
	struct jfr_type *stack_type, *thread_type, *class_type, *method_type, *frame_type,
		*state_type, *context_type, *wait_type;
	bool kernel_frames; /* async-profiler's frame types: Native is C, not a Java native method */
	bool default_state; /* async-profiler's thread states: STATE_DEFAULT marks a CPU sample */
	uint8_t types[64];  /* enum jfr_frame_type by key */
	uint8_t states[64]; /* enum wait_state by key of a thread state */
	uint32_t labels;    /* labels of the file, in the profile's names */
	/* States that the agent has logged next to the samples; NULL: none. The number of this file there; 0: none. */
	const struct wait_looks *looks;
	uint32_t looks_file;
	struct thread_stacks stacks; /* of the chunk, for the owners of locks in these states */
	uint64_t tid_key;            /* last key of resolve_tid() */
	uint32_t tid;
	struct libraries libraries; /* libraries of the chunk, if the query needs addresses */
	struct buf text, text2;     /* scratch: a name, and a class or path */
	struct buf stack;           /* frame IDs of the current stack, leaf first */
};

#endif
