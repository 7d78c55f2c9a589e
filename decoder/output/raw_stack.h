/* Stack traces as stored in the recording, printed frame by frame. The layout is that of the async-profiler
 * Rust agent's decoder; longpolls and nativemem match it exactly. */
#ifndef DECODER_OUTPUT_RAW_STACK_H
#define DECODER_OUTPUT_RAW_STACK_H

#include <stdio.h>

#include "profile/jfr/jfr_read.h"

/* One frame, as CLASS.METHOD. Missing names are "<unknown>". */
struct raw_frame {
	size_t class, method; /* offsets in text of NUL-terminated strings */
	bool managed;         /* from a language runtime: Java, Python, JavaScript */
};

/* Frames of one event, innermost first. */
struct raw_stack {
	struct buf text, frames;
	size_t count;
};

/* Initial value. Release with raw_stack_free(). */
#define RAW_STACK_INIT                                                     \
	{                                                                  \
		.text = BUF_INIT(16u << 20), .frames = BUF_INIT(16u << 20) \
	}

/* Read EVENT's stackTrace. Returns false when out of memory. */
bool raw_stack_read(struct raw_stack *stack, const struct jfr_chunk *chunk,
		    const struct jfr_event *event);

const char *raw_stack_class(struct raw_stack *stack, size_t index);
const char *raw_stack_method(struct raw_stack *stack, size_t index);
bool raw_stack_is_managed(struct raw_stack *stack, size_t index);

/* Print " -   1: CLASS.METHOD" for DEPTH frames, the number of further frames, and an empty line. */
void raw_stack_print(FILE *out, struct raw_stack *stack, size_t depth);

/* The same from frame FIRST on, with " -   0: " for the innermost frame if FIRST is not 0. */
void raw_stack_print_from(FILE *out, struct raw_stack *stack, size_t first, size_t depth);

/* Print TICKS as seconds: "[12.345678]". */
void raw_stack_print_time(FILE *out, const struct jfr_header *header, int64_t ticks);

/* Print the frames as a JSON array of {"module": CLASS, "name": METHOD}, innermost first. */
void raw_stack_json(FILE *out, struct raw_stack *stack);

void raw_stack_free(struct raw_stack *stack);

#endif
