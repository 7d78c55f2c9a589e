/* From the constants of one chunk to the names, frames and threads of a profile. Each constant is
 * resolved once. One thread. */
#ifndef PROFILE_AGGREGATE_RESOLVE_H
#define PROFILE_AGGREGATE_RESOLVE_H

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

struct resolve {
	struct profile *profile;
	const struct args *args;
	struct jfr_chunk *chunk;
	struct jfr_type *stack_type, *thread_type, *class_type, *method_type, *frame_type,
		*state_type;
	bool kernel_frames; /* async-profiler's frame types: Native is C, not a Java native method */
	bool default_state; /* its thread states: STATE_DEFAULT marks a sample of CPU time */
	uint8_t types[64];  /* enum frame_type by key */
	uint32_t labels;    /* of the file, in the profile's names */
	struct libraries libraries; /* of the chunk, where addresses are asked for */
	struct buf text, text2, stack;
};

/* FROM is where CHUNK comes from. Nothing to release but resolve_close()'s scratch. */
void resolve_open(struct resolve *resolve, struct profile *profile, const struct args *args,
		  struct jfr_chunk *chunk, const struct feed_chunk *from);
void resolve_close(struct resolve *resolve);

/* The number of the stack with KEY in this chunk; 0 where there is none. With CLASS, the class's
 * name is the leaf, a frame of LEAF_TYPE. */
uint32_t resolve_stack(struct resolve *resolve, uint64_t key, uint64_t class,
		       enum frame_type leaf_type);
uint32_t resolve_thread(struct resolve *resolve, uint64_t key);

/* The name of CLASS in OUT, as it stands there; empty where there is none. */
void resolve_class_text(struct resolve *resolve, const struct jfr_value *class, struct buf *out);

/* A sample of time on a CPU, rather than of time on the wall. */
bool resolve_is_cpu(const struct resolve *resolve, const struct jfr_event *event);

#endif
