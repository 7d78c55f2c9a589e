/* Stacks printed frame by frame as they stand in the recording: the layout of the async-profiler
 * Rust agent's decoder, which longpolls and nativemem keep to the byte. */
#ifndef DECODER_OUTPUT_RAW_STACK_H
#define DECODER_OUTPUT_RAW_STACK_H

#include <stdio.h>

#include "profile/jfr/jfr_read.h"

/* Frames leaf first; every name as CLASS.METHOD, "<unknown>" where there is none. */
struct raw_frame {
	size_t class, method; /* offsets in text; both end with NUL */
	bool managed; /* of a language with a machine of its own: Java, Python, JavaScript */
};

struct raw_stack {
	struct buf text, frames;
	size_t count;
};

/* Start with this, release with raw_stack_free. */
#define RAW_STACK_INIT                                                     \
	{                                                                  \
		.text = BUF_INIT(16u << 20), .frames = BUF_INIT(16u << 20) \
	}

/* Read the event's stackTrace. False when out of memory. */
bool raw_stack_read(struct raw_stack *stack, const struct jfr_chunk *chunk,
		    const struct jfr_event *event);

const char *raw_stack_class(struct raw_stack *stack, size_t index);
const char *raw_stack_method(struct raw_stack *stack, size_t index);
bool raw_stack_is_managed(struct raw_stack *stack, size_t index);

/* " -   1: CLASS.METHOD" for DEPTH frames, a line for what is left, an empty line. */
void raw_stack_print(FILE *out, struct raw_stack *stack, size_t depth);

/* "[12.345678]": ticks as seconds. */
void raw_stack_print_time(FILE *out, const struct jfr_header *header, int64_t ticks);

void raw_stack_free(struct raw_stack *stack);

#endif
