/* Table of a chunk's sample contexts, each stored once. */
#include "engine/jfr/jfr_contexts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/account.h"

#define IDS (JFR_TRACE_ID + JFR_SPAN_ID)

/* Memory that is kept for the next chunk. */
#define KEPT_BYTES (64u << 10)

static uint32_t context_hash(const struct jfr_context *context)
{
	uint64_t hash = context->length;

	for (size_t i = 0; i < JFR_TRACE_ID; i++)
		hash = jfr_hash_step(hash, context->trace_id[i]);
	for (size_t i = 0; i < JFR_SPAN_ID; i++)
		hash = jfr_hash_step(hash, context->span_id[i]);
	for (size_t i = 0; i < context->length; i++)
		hash = jfr_hash_step(hash, (uint8_t)context->labels[i]);
	return jfr_hash_end(hash);
}

struct jfr_context jfr_contexts_get(const struct jfr_contexts *c, uint32_t id)
{
	const uint8_t *at = c->bytes + c->rows[id - 1];
	struct jfr_context context = { .labels = (const char *)at + IDS };

	memcpy(context.trace_id, at, JFR_TRACE_ID);
	memcpy(context.span_id, at + JFR_TRACE_ID, JFR_SPAN_ID);
	context.length = strlen(context.labels);
	return context;
}

static bool context_is_same(const struct jfr_contexts *c, uint32_t row,
			    const struct jfr_context *context)
{
	struct jfr_context there = jfr_contexts_get(c, row + 1);

	return there.length == context->length &&
	       !memcmp(there.trace_id, context->trace_id, JFR_TRACE_ID) &&
	       !memcmp(there.span_id, context->span_id, JFR_SPAN_ID) &&
	       (!there.length || !memcmp(there.labels, context->labels, there.length));
}

static bool context_is_empty(const struct jfr_context *context)
{
	for (size_t i = 0; i < JFR_TRACE_ID; i++)
		if (context->trace_id[i])
			return false;
	for (size_t i = 0; i < JFR_SPAN_ID; i++)
		if (context->span_id[i])
			return false;
	return !context->length;
}

static bool contexts_add(struct jfr_contexts *c, uint32_t hash, const struct jfr_context *context)
{
	size_t size = IDS + context->length + 1;
	uint8_t *at;

	if (c->count == JFR_CONTEXTS_MAX || size > JFR_CONTEXTS_MAX_BYTES - c->used)
		return false;
	if (!memory_is_granted(MEMORY_STACK, size) ||
	    jfr_grow(&c->bytes, &c->capacity, c->used + (uint32_t)size, JFR_CONTEXTS_MAX_BYTES,
		     1) ||
	    jfr_grow(&c->rows, &c->row_capacity, c->count + 1, JFR_CONTEXTS_MAX,
		     sizeof(*c->rows)) ||
	    jfr_index_add(&c->index, hash, c->count))
		return false;
	at = c->bytes + c->used;
	memcpy(at, context->trace_id, JFR_TRACE_ID);
	memcpy(at + JFR_TRACE_ID, context->span_id, JFR_SPAN_ID);
	if (context->length)
		memcpy(at + IDS, context->labels, context->length);
	at[size - 1] = '\0';
	c->rows[c->count++] = c->used;
	c->used += (uint32_t)size;
	return true;
}

uint32_t jfr_contexts_intern(struct jfr_contexts *c, const struct jfr_context *context)
{
	uint32_t hash, cursor, row;

	if (context_is_empty(context))
		return 0;
	hash = context_hash(context);
	row = jfr_index_first(&c->index, hash, &cursor);
	while (row != JFR_INDEX_NONE && !context_is_same(c, row, context))
		row = jfr_index_next(&c->index, hash, &cursor);
	if (row != JFR_INDEX_NONE)
		return row + 1;
	if (contexts_add(c, hash, context))
		return c->count;
	c->full++;
	return 0;
}

void jfr_contexts_reset(struct jfr_contexts *c)
{
	if (c->capacity > KEPT_BYTES)
		jfr_contexts_free(c);
	jfr_index_reset(&c->index);
	c->used = c->count = 0;
	c->full = 0;
}

void jfr_contexts_free(struct jfr_contexts *c)
{
	free(c->bytes);
	free(c->rows);
	jfr_index_free(&c->index);
	*c = (struct jfr_contexts){ 0 };
}
