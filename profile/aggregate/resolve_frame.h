/* Resolver of frames: converts a frame of a stack trace to a frame of a profile. */
#ifndef PROFILE_AGGREGATE_RESOLVE_FRAME_H
#define PROFILE_AGGREGATE_RESOLVE_FRAME_H

#include "profile/aggregate/resolve_state.h"
#include "profile/jfr/jfr_cursor.h"

/* A frame as stored in the chunk. */
struct stored_frame {
	uint64_t method; /* key of a constant */
	uint32_t line;
	uint32_t address; /* native code: link address in its library; Java: bytecode index */
	uint8_t type;     /* key of a constant */
};

/* Whether frames of TYPE are of native code. In recordings of a JVM, native methods are not. */
bool resolve_is_native(const struct resolve *resolve, enum jfr_frame_type type);

/* Returns the type of STORED; a native one if it is unknown. */
enum jfr_frame_type resolve_frame_type(const struct resolve *resolve,
				       const struct stored_frame *stored);

/* Read a frame of TYPE at C; fields are found by name. */
void stored_frame_read(struct stored_frame *stored, struct cursor *c, const struct jfr_type *type);

/* Returns the frame's ID in the profile. If debug files add inlined functions, it is the ID of the
 * innermost one; `caller` leads to the others. */
uint32_t resolve_frame(struct resolve *resolve, const struct stored_frame *stored);

/* Replace OUT by the name of CLASS as stored; empty if there is none. */
void resolve_class_text(struct resolve *resolve, const struct jfr_value *class, struct buf *out);

#endif
