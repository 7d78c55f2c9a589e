/* Maps program counters to the methods, classes and symbols of the constant pools. */
#ifndef ENGINE_JFR_JFR_NAMES_H
#define ENGINE_JFR_JFR_NAMES_H

#include <stdint.h>

#include "engine/jfr/jfr_index.h"
#include "engine/jfr/jfr_namer.h"
#include "engine/jfr/jfr_stacks.h"

struct jfr_method_row {
	uint32_t class, name, descriptor; /* name and descriptor are symbols */
};

/* Rows are numbered from 0. The namer owns their strings. */
struct jfr_names {
	struct jfr_frame_name *frames; /* by pc, then by special stack */
	uint32_t *methods_of;          /* the method of each frame */
	uint32_t frame_count;

	/* The methods that are inlined in frame N, innermost first: from inlined_from[N] to inlined_from[N + 1]. */
	uint32_t *inlined, *inlined_from;
	uint32_t inlined_capacity;

	struct jfr_method_row *methods;
	uint32_t method_count, method_capacity;
	struct jfr_index method_index;

	uint32_t *classes; /* the symbol of each class */
	uint32_t class_count, class_capacity;
	struct jfr_index class_index;

	const char **symbols;
	uint32_t symbol_count, symbol_capacity;
	struct jfr_index symbol_index;
};

/* Symbolize all pcs of STACKS. Returns 0 or -errno; in either case release NAMES with
 * jfr_names_free(). */
int jfr_names_make(struct jfr_names *names, const struct jfr_stacks *stacks, jfr_namer *namer,
		   void *context);
void jfr_names_free(struct jfr_names *names);

#endif
