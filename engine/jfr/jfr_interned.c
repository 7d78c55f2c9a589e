/* Constants that events refer to, written as the chunk's constant pools. Empty pools are omitted,
 * because the JDK's readers reject them. */
#include "engine/jfr/jfr_interned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text/hex.h"
#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_names.h"
#include "engine/jfr/jfr_types.h"

#define MODIFIER_NATIVE 0x100
#define CHECKPOINT_KIND 1 /* "flush": all events before it are in the file */

struct pool_writer {
	const struct jfr_interned *interned;
	struct jfr_names names;
	struct jfr_out *out;
	uint8_t frame_types[JFR_FRAME_C1 + 1]; /* the frame type of each number */
	/* Ids of the first rows. */
	uint32_t method_id, class_id, symbol_id;
};

/* A number that several frame types share gets the name of the one that occurs. */
static void find_frame_types(struct pool_writer *w)
{
	enum jfr_frame_type type;
	uint8_t *named;

	for (uint32_t i = 0; i < sizeof(w->frame_types); i++)
		w->frame_types[i] = (uint8_t)i;
	for (uint32_t i = 0; i < w->names.frame_count; i++) {
		type = (enum jfr_frame_type)w->names.frames[i].type;
		if (!jfr_frame_is_script(type))
			continue;
		named = &w->frame_types[jfr_frame_type_key(type)];
		if (!jfr_frame_is_script((enum jfr_frame_type) * named))
			*named = (uint8_t)type;
	}
}

/* The key of ROW if it is a constant of TYPE in this chunk; otherwise UINT32_MAX. */
static uint32_t constant_key(const struct pool_writer *w, const struct jfr_constant_row *row,
			     enum jfr_type_id type)
{
	uint32_t key;

	if (row->type != type)
		return UINT32_MAX;
	if (type != JFR_T_FRAME_TYPE)
		return row->key;
	key = jfr_frame_type_key((enum jfr_frame_type)row->key);
	return w->frame_types[key] == row->key ? key : UINT32_MAX;
}

static uint32_t constant_count(const struct pool_writer *w, enum jfr_type_id type)
{
	uint32_t count = 0;
	size_t i;

	for (i = 0; i < jfr_constant_count; i++)
		count += constant_key(w, &jfr_constants[i], type) != UINT32_MAX;
	return count;
}

static void write_constants(const struct pool_writer *w, enum jfr_type_id type)
{
	uint32_t key;
	size_t i;

	for (i = 0; i < jfr_constant_count; i++) {
		key = constant_key(w, &jfr_constants[i], type);
		if (key == UINT32_MAX)
			continue;
		jfr_out_varint(w->out, key);
		jfr_out_string(w->out, jfr_constants[i].name);
	}
}

static uint32_t thread_count(const struct pool_writer *w)
{
	return w->interned->threads.used;
}

static void write_threads(const struct pool_writer *w)
{
	const struct jfr_threads *threads = &w->interned->threads;
	const struct jfr_thread_row *row;
	char unnamed[32];
	uint32_t i;

	for (i = 0; i < threads->count; i++) {
		row = &threads->rows[i];
		if (!row->used)
			continue;
		snprintf(unnamed, sizeof(unnamed), "[tid=%d]", row->tid);
		jfr_out_varint(w->out, (uint32_t)row->tid);
		jfr_out_string(w->out, row->name[0] ? row->name : unnamed);
		jfr_out_varint(w->out, (uint32_t)row->tid);
		jfr_out_string(w->out, NULL); /* Java's name and id: this is not a Java thread */
		jfr_out_varint(w->out, 0);
	}
}

static void write_method(const struct pool_writer *w, uint32_t method, uint32_t line,
			 uint32_t address, uint8_t type)
{
	uint8_t *p = jfr_out_room(w->out, 4 * JFR_VARINT_MAX);

	if (!p)
		return;
	p = jfr_put_varint(p, w->method_id + method);
	p = jfr_put_varint(p, line);
	/* Instead of a bytecode index; a debug file maps it to a line. */
	p = jfr_put_varint(p, address);
	p = jfr_put_varint(p, jfr_frame_type_key((enum jfr_frame_type)type));
	jfr_out_commit(w->out, p);
}

static void write_frame(const struct pool_writer *w, uint32_t frame)
{
	const struct jfr_names *names = &w->names;
	const struct jfr_frame_name *name = &names->frames[frame];

	for (uint32_t i = names->inlined_from[frame]; i < names->inlined_from[frame + 1]; i++)
		write_method(w, names->inlined[i], 0, 0, name->type);
	write_method(w, names->methods_of[frame], name->line, name->address, name->type);
}

/* Number of frames of a stack with COUNT PCS, with inlined functions. */
static uint32_t stack_depth(const struct pool_writer *w, const uint32_t *pcs, uint32_t count)
{
	const uint32_t *from = w->names.inlined_from;
	uint32_t depth = count;

	for (uint32_t i = 0; i < count; i++)
		depth += from[pcs[i] + 1] - from[pcs[i]];
	return depth;
}

static void write_stack_head(const struct pool_writer *w, uint32_t number, bool truncated,
			     uint32_t depth)
{
	jfr_out_varint(w->out, w->interned->first_stack_id + number);
	jfr_out_varint(w->out, truncated);
	jfr_out_varint(w->out, depth);
}

static uint32_t stack_count(const struct pool_writer *w)
{
	return w->interned->stacks.count;
}

static void write_stacks(const struct pool_writer *w)
{
	const struct jfr_stacks *stacks = &w->interned->stacks;
	const struct jfr_stack_head *head;
	uint32_t word = 0, i;

	while (word < stacks->word_count) {
		head = (const struct jfr_stack_head *)(stacks->words + word);
		word += JFR_STACK_HEAD_WORDS;
		write_stack_head(w, head->number, head->depth & 1,
				 stack_depth(w, stacks->words + word, head->depth / 2));
		for (i = 0; i < head->depth / 2; i++)
			write_frame(w, stacks->words[word++]);
	}
	for (i = 0; i < JFR_STACK_SPECIALS; i++) {
		if (!stacks->special[i])
			continue;
		write_stack_head(w, stacks->special[i] - 1, false, 1);
		write_frame(w, stacks->pc_count + i);
	}
}

static uint32_t method_count(const struct pool_writer *w)
{
	return w->names.method_count;
}

static void write_methods(const struct pool_writer *w)
{
	const struct jfr_method_row *row;
	uint32_t i;

	for (i = 0; i < w->names.method_count; i++) {
		row = &w->names.methods[i];
		jfr_out_varint(w->out, w->method_id + i);
		jfr_out_varint(w->out, w->class_id + row->class);
		jfr_out_varint(w->out, w->symbol_id + row->name);
		jfr_out_varint(w->out, w->symbol_id + row->descriptor);
		jfr_out_varint(w->out, MODIFIER_NATIVE);
		jfr_out_varint(w->out, 0); /* not hidden */
	}
}

static uint32_t class_count(const struct pool_writer *w)
{
	return w->names.class_count;
}

static void write_classes(const struct pool_writer *w)
{
	uint32_t i;

	for (i = 0; i < w->names.class_count; i++) {
		jfr_out_varint(w->out, w->class_id + i);
		jfr_out_varint(w->out, 0); /* class loader */
		jfr_out_varint(w->out, w->symbol_id + w->names.classes[i]);
		jfr_out_varint(w->out, 0); /* package */
		jfr_out_varint(w->out, 0); /* modifiers */
	}
}

static uint32_t symbol_count(const struct pool_writer *w)
{
	return w->names.symbol_count;
}

static void write_symbols(const struct pool_writer *w)
{
	uint32_t i;

	for (i = 0; i < w->names.symbol_count; i++) {
		jfr_out_varint(w->out, w->symbol_id + i);
		jfr_out_string(w->out, w->names.symbols[i]);
	}
}

static uint32_t user_type_count(const struct pool_writer *w)
{
	return w->interned->user_type_count;
}

static void write_user_types(const struct pool_writer *w)
{
	uint32_t i;

	for (i = 0; i < w->interned->user_type_count; i++) {
		jfr_out_varint(w->out, i + 1);
		jfr_out_string(w->out, w->interned->user_types[i]);
	}
}

static uint32_t context_count(const struct pool_writer *w)
{
	return w->interned->contexts.count;
}

/* Write "KEY=ID" as a line, in hexadecimal; nothing if ID is 0. Returns the end. */
static char *write_id_line(char *at, const char *key, const uint8_t *id, size_t size)
{
	char *begin = at;
	uint8_t any = 0;

	for (size_t i = 0; i < size; i++)
		any |= id[i];
	at = stpcpy(stpcpy(at, key), "=");
	at = stpcpy(hex_encode(at, id, size), "\n");
	return any ? at : begin;
}

static void write_contexts(const struct pool_writer *w)
{
	/* Longer texts are cut at a character boundary when they are written. */
	char text[JFR_STRING_MAX + 8], *at;

	for (uint32_t id = 1; id <= w->interned->contexts.count; id++) {
		struct jfr_context context = jfr_contexts_get(&w->interned->contexts, id);

		at = write_id_line(text, "trace_id", context.trace_id, JFR_TRACE_ID);
		at = write_id_line(at, "span_id", context.span_id, JFR_SPAN_ID);
		snprintf(at, sizeof(text) - (size_t)(at - text), "%s",
			 context.length ? context.labels : "");
		jfr_out_varint(w->out, jfr_interned_row_id(w->interned, id));
		jfr_out_string(w->out, text);
	}
}

static uint32_t wait_count(const struct pool_writer *w)
{
	return w->interned->waits.count;
}

static void write_waits(const struct pool_writer *w)
{
	for (uint32_t id = 1; id <= w->interned->waits.count; id++) {
		jfr_out_varint(w->out, jfr_interned_row_id(w->interned, id));
		jfr_out_string(w->out, jfr_contexts_get(&w->interned->waits, id).labels);
	}
}

/* The pools in the order in which they are written. Pools without functions come from
 * jfr_constants. */
static const struct {
	enum jfr_type_id type;
	uint32_t (*count)(const struct pool_writer *w);
	void (*write)(const struct pool_writer *w);
} pool_rows[] = {
	{ JFR_T_FRAME_TYPE, NULL, NULL },
	{ JFR_T_THREAD_STATE, NULL, NULL },
	{ JFR_T_THREAD, thread_count, write_threads },
	{ JFR_T_STACK_TRACE, stack_count, write_stacks },
	{ JFR_T_METHOD, method_count, write_methods },
	{ JFR_T_CLASS, class_count, write_classes },
	{ JFR_T_SYMBOL, symbol_count, write_symbols },
	{ JFR_T_USER_EVENT_TYPE, user_type_count, write_user_types },
	{ JFR_T_CONTEXT, context_count, write_contexts },
	{ JFR_T_WAIT, wait_count, write_waits },
};

#define POOL_ROWS (sizeof(pool_rows) / sizeof(*pool_rows))

static void write_pools(const struct pool_writer *w)
{
	uint32_t counts[POOL_ROWS], pools = 0;
	size_t i;

	for (i = 0; i < POOL_ROWS; i++) {
		counts[i] = pool_rows[i].count ? pool_rows[i].count(w)
					       : constant_count(w, pool_rows[i].type);
		pools += counts[i] > 0;
	}
	jfr_out_varint(w->out, pools);
	for (i = 0; i < POOL_ROWS; i++) {
		if (!counts[i])
			continue;
		jfr_out_varint(w->out, pool_rows[i].type);
		jfr_out_varint(w->out, counts[i]);
		if (pool_rows[i].write)
			pool_rows[i].write(w);
		else
			write_constants(w, pool_rows[i].type);
	}
}

static void write_checkpoint(const struct pool_writer *w, uint64_t ticks)
{
	uint8_t size[JFR_PADDED_LENGTH] = { 0 };
	off_t start = jfr_out_position(w->out), length;

	jfr_out_bytes(w->out, size, sizeof(size)); /* patched when everything is written */
	jfr_out_varint(w->out, JFR_T_CPOOL);
	jfr_out_varint(w->out, ticks);
	jfr_out_varint(w->out, 0); /* duration */
	jfr_out_varint(w->out, 0); /* no previous checkpoint */
	jfr_out_varint(w->out, CHECKPOINT_KIND);
	write_pools(w);

	if (jfr_out_flush(w->out))
		return;
	length = jfr_out_position(w->out) - start;
	if (length > JFR_PADDED_MAX) {
		w->out->err = -EFBIG;
		return;
	}
	jfr_put_padded(size, (size_t)length);
	jfr_out_patch(w->out, size, sizeof(size), start);
}

uint32_t jfr_interned_row_id(const struct jfr_interned *interned, uint32_t row)
{
	return row ? interned->first_stack_id + row - 1 : 0;
}

int jfr_interned_write(struct jfr_interned *interned, struct jfr_out *out, uint64_t ticks,
		       jfr_namer *namer, void *context)
{
	struct pool_writer w = { .interned = interned, .out = out };
	uint32_t rows = interned->contexts.count > interned->waits.count ? interned->contexts.count
									 : interned->waits.count;
	int err;

	err = jfr_names_make(&w.names, &interned->stacks, namer, context);
	if (err)
		goto out;
	find_frame_types(&w);
	w.method_id = interned->first_stack_id + interned->stacks.count;
	w.class_id = w.method_id + w.names.method_count;
	w.symbol_id = w.class_id + w.names.class_count;
	interned->next_id = w.symbol_id + w.names.symbol_count;
	if (interned->next_id < interned->first_stack_id + rows)
		interned->next_id = interned->first_stack_id + rows;
	write_checkpoint(&w, ticks);
	err = out->err;
out:
	jfr_names_free(&w.names);
	return err;
}

void jfr_interned_reset(struct jfr_interned *interned)
{
	if (interned->next_id - interned->base_id >= JFR_IDS)
		interned->next_id = interned->base_id;
	interned->first_stack_id = interned->next_id;
	jfr_stacks_reset(&interned->stacks);
	jfr_threads_next_chunk(&interned->threads);
	jfr_contexts_reset(&interned->contexts);
	jfr_contexts_reset(&interned->waits);
}

void jfr_interned_free(struct jfr_interned *interned)
{
	uint32_t i;

	for (i = 0; i < interned->user_type_count; i++)
		free(interned->user_types[i]);
	interned->user_type_count = 0;
	jfr_stacks_free(&interned->stacks);
	jfr_threads_free(&interned->threads);
	jfr_contexts_free(&interned->contexts);
	jfr_contexts_free(&interned->waits);
}
