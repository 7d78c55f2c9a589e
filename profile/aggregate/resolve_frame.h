/* From a frame of a stack trace to a frame of a profile. */
#ifndef PROFILE_AGGREGATE_RESOLVE_FRAME_H
#define PROFILE_AGGREGATE_RESOLVE_FRAME_H

#include "profile/aggregate/resolve_state.h"
#include "profile/jfr/jfr_cursor.h"

/* A frame as the chunk has it. */
struct stored_frame {
	uint64_t method;
	uint32_t line;
	uint32_t address; /* of native code, in its library; a bytecode index in Java */
	uint8_t type;     /* key of a constant */
};

/* Read the fields of a frame, wherever its TYPE has them. */
void stored_frame_read(struct stored_frame *stored, struct cursor *c, const struct jfr_type *type);

/* The number of the frame in the profile. Where it stands for functions that are inlined into one
 * another, that of the innermost: `caller` leads to the others. */
uint32_t resolve_frame(struct resolve *resolve, const struct stored_frame *stored);

/* The name of CLASS in OUT, as it stands there; empty where there is none. */
void resolve_class_text(struct resolve *resolve, const struct jfr_value *class, struct buf *out);

#endif
