/* The contexts of a chunk's samples, each once: what a thread was working on when it was sampled. */
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

/* Zeroed is empty. */
struct jfr_contexts {
	uint8_t *bytes; /* of one after another: ids, labels, NUL */
	uint32_t used, capacity;
	uint32_t *rows; /* where each begins */
	uint32_t count, row_capacity;
	struct jfr_index index;
	uint64_t full; /* that were not taken */
};

/* Its id, from 1 on; 0 where it tells nothing, or cannot be kept, which is counted. */
uint32_t jfr_contexts_intern(struct jfr_contexts *contexts, const struct jfr_context *context);

/* The one with ID, which there is. Its labels have a NUL behind them. */
struct jfr_context jfr_contexts_get(const struct jfr_contexts *contexts, uint32_t id);

void jfr_contexts_reset(struct jfr_contexts *contexts);
void jfr_contexts_free(struct jfr_contexts *contexts);

#endif
