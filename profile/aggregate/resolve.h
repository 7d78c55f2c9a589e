/* From the constants of one chunk to the names, frames and threads of a profile. Each constant is
 * resolved once. One thread. */
#ifndef PROFILE_AGGREGATE_RESOLVE_H
#define PROFILE_AGGREGATE_RESOLVE_H

#include "profile/aggregate/resolve_state.h"

/* FROM is where CHUNK comes from. Nothing to release but resolve_close()'s scratch. */
void resolve_open(struct resolve *resolve, struct profile *profile, const struct query *query,
		  struct jfr_chunk *chunk, const struct feed_chunk *from);
void resolve_close(struct resolve *resolve);

/* The number of the stack with KEY in this chunk; 0 where there is none. With CLASS, the class's
 * name is the leaf, a frame of LEAF_TYPE. */
uint32_t resolve_stack(struct resolve *resolve, uint64_t key, uint64_t class,
		       enum jfr_frame_type leaf_type);
uint32_t resolve_thread(struct resolve *resolve, uint64_t key);

/* What the constant with KEY says that a thread was working on: lines of "key=value" in the profile's names, the
 * trace as "trace_id" and the span as "span_id" in hexadecimal; 0 where it says nothing. */
uint32_t resolve_context(struct resolve *resolve, uint64_t key);

/* A sample of time on a CPU, rather than of time on the wall. */
bool resolve_is_cpu(const struct resolve *resolve, const struct jfr_event *event);

#endif
