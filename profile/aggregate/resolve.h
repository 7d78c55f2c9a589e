/* Resolver: converts constants of one chunk to stacks, threads and contexts of a profile. Each
 * constant is resolved once and cached in its memo. One thread uses a resolver. */
#ifndef PROFILE_AGGREGATE_RESOLVE_H
#define PROFILE_AGGREGATE_RESOLVE_H

#include "profile/aggregate/resolve_state.h"

/* Start to resolve constants of CHUNK, which comes from FROM. Release with resolve_close(). */
void resolve_open(struct resolve *resolve, struct profile *profile, const struct query *query,
		  struct jfr_chunk *chunk, const struct feed_chunk *from);
void resolve_close(struct resolve *resolve);

/* Returns the profile's ID of the chunk's stack KEY; 0 if there is none. If CLASS is not 0, the
 * name of that class becomes the leaf, a frame of LEAF_TYPE. */
uint32_t resolve_stack(struct resolve *resolve, uint64_t key, uint64_t class,
		       enum jfr_frame_type leaf_type);

/* Returns the profile's ID of the chunk's thread KEY; 0 with query->no_threads. */
uint32_t resolve_thread(struct resolve *resolve, uint64_t key);

/* Returns the context of the constant KEY, an ID in the profile's names; 0 if it is empty. The text
 * is lines of "key=value", with the trace as "trace_id" and the span as "span_id", in
 * hexadecimal. */
uint32_t resolve_context(struct resolve *resolve, uint64_t key);

/* Returns the lines in the constant KEY of TYPE, sanitized, valid until the next call; NULL if there
 * are none. */
const char *resolve_lines(struct resolve *resolve, const struct jfr_type *type, uint64_t key);

/* Whether EVENT is a CPU sample, not a wall clock sample. */
bool resolve_is_cpu(const struct resolve *resolve, const struct jfr_event *event);

/* Whether EVENT, a wall clock sample, is of a thread that did not run. */
bool resolve_is_sleeping(const struct resolve *resolve, const struct jfr_event *event);

#endif
