/* Table of a chunk's sample contexts, each stored once. */
#ifndef ENGINE_JFR_JFR_CONTEXTS_H
#define ENGINE_JFR_JFR_CONTEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_index.h"
#include "engine/jfr/jfr_limits.h"

#define JFR_TRACE_ID 16
#define JFR_SPAN_ID  8

struct jfr_context {
	uint8_t trace_id[JFR_TRACE_ID], span_id[JFR_SPAN_ID]; /* all 0: none */
	const char *labels; /* LENGTH bytes of "key=value" lines, each with its newline */
	size_t length;
};

/* A zeroed table is empty. */
struct jfr_contexts {
	uint8_t *bytes; /* for each context: ids, labels, NUL */
	uint32_t used, capacity;
	uint32_t *rows; /* start of each context */
	uint32_t count, row_capacity;
	struct jfr_index index;
	uint64_t full; /* number of contexts without room */
};

/* The id of CONTEXT, from 1 on. Returns 0 for an empty context, and when there is no room, which is
 * counted. */
uint32_t jfr_contexts_intern(struct jfr_contexts *contexts, const struct jfr_context *context);

/* The context with ID, which must exist. A NUL follows its labels. */
struct jfr_context jfr_contexts_get(const struct jfr_contexts *contexts, uint32_t id);

void jfr_contexts_reset(struct jfr_contexts *contexts);
void jfr_contexts_free(struct jfr_contexts *contexts);

#endif
