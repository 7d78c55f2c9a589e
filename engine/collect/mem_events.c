/* Writes native memory samples to the recording, and growth of the heap to the log. */
#include "engine/collect/mem_events.h"

#include <string.h>

#include "core/buf.h"
#include "core/log.h"
#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/memory/mem.h"
#include "engine/symbols/frame_names.h"

/* Number of stacks in the log when memory grows, and frames of each. */
#define HEAVIEST   5
#define LOG_FRAMES 12

void mem_events_malloc(struct jfr_writer *jfr, const struct sample *s)
{
	jfr_use_context(jfr, sample_context_id(jfr, sample_context(s)));
	jfr_malloc(jfr, s->ticks, s->tid, program_stack(jfr, s->pcs, s->count, s->truncated),
		   s->args[0], s->args[1], s->args[2]);
}

void mem_events_free(struct jfr_writer *jfr, const struct sample *s)
{
	uint64_t birth;

	memcpy(&birth, s->payload, sizeof(birth));
	jfr_free(jfr, s->ticks, s->tid, 0, s->args[0], s->args[2], birth);
}

struct heavy {
	uint64_t bytes, count;
	size_t depth;
	uintptr_t pcs[LOG_FRAMES];
};

struct chunk {
	struct jfr_writer *jfr;
	uint64_t ticks;
	struct heavy heaviest[HEAVIEST]; /* descending */
};

static void heaviest_insert(struct chunk *chunk, const struct mem_retained *r)
{
	struct heavy *h = chunk->heaviest;
	size_t i = HEAVIEST;

	while (i && r->bytes > h[i - 1].bytes)
		i--;
	if (i == HEAVIEST)
		return;
	memmove(&h[i + 1], &h[i], (HEAVIEST - 1 - i) * sizeof(*h));
	h[i].bytes = r->bytes;
	h[i].count = r->count;
	h[i].depth = r->depth < LOG_FRAMES ? r->depth : LOG_FRAMES;
	memcpy(h[i].pcs, r->pcs, h[i].depth * sizeof(*h[i].pcs));
}

static void write_retained(void *context, const struct mem_retained *r)
{
	struct chunk *chunk = context;
	struct jfr_retained out = {
		.count = r->count,
		.bytes = r->bytes,
		.oldest = r->oldest ? r->oldest : chunk->ticks,
		.allocated_count = r->totals.allocated_count,
		.allocated_bytes = r->totals.allocated_bytes,
		.freed_count = r->totals.freed_count,
		.freed_bytes = r->totals.freed_bytes,
	};

	jfr_retained(chunk->jfr, chunk->ticks,
		     program_stack(chunk->jfr, r->pcs, r->depth, r->truncated), &out);
	heaviest_insert(chunk, r);
}

static void heaviest_log(struct symbols *symbols, const struct heavy *h)
{
	struct jfr_frame_name names[LOG_FRAMES] = { 0 };
	struct buf line = BUF_INIT(800);
	bool is_return[LOG_FRAMES];
	const char *stack;
	int full = 0;

	for (size_t i = 0; i < h->depth; i++)
		is_return[i] = i > 0;
	if (frame_names(symbols, h->pcs, is_return, h->depth, names))
		memset(names, 0, sizeof(names));
	/* A long line is cut: C++ names have no limit. */
	for (size_t i = 0; i < h->depth && !full; i++) {
		full = buf_printf(&line, "%s%.120s", i ? " < " : "",
				  names[i].method_name ? names[i].method_name : "[unknown]");
		if (!full && names[i].line)
			full = buf_printf(&line, " (%s:%u)", names[i].class_name, names[i].line);
	}
	stack = buf_string(&line);
	log_warn("NATIVE_MEM_GROWTH: %llu bytes in %llu allocations: %s",
		 (unsigned long long)h->bytes, (unsigned long long)h->count,
		 stack ? stack : "[no memory for their stack]");
	buf_free(&line);
}

/* The increase of COUNTER since BEFORE; the counter restarts with the sampling. */
static uint64_t counter_increase(uint64_t *before, uint64_t counter)
{
	uint64_t more = counter - (counter >= *before ? *before : 0);

	*before = counter;
	return more;
}

void mem_events_chunk(struct jfr_writer *jfr, struct symbols *symbols, uint64_t ticks,
		      struct jfr_losses *losses)
{
	static uint64_t missed_before, stacks_before;
	struct chunk chunk = { .jfr = jfr, .ticks = ticks };
	struct mem_summary summary;

	jfr_use_stack_reserve(jfr);
	mem_collect(write_retained, &chunk, &summary);
	losses->table_evictions += counter_increase(&missed_before, summary.evicted + summary.lost);
	losses->retained_stacks += counter_increase(&stacks_before, summary.lost_stacks);
	if (!summary.grown)
		return;
	log_warn("NATIVE_MEM_GROWTH: %llu bytes are retained now, in %llu allocations; most by:",
		 (unsigned long long)summary.bytes, (unsigned long long)summary.count);
	for (size_t i = 0; i < HEAVIEST && chunk.heaviest[i].bytes; i++)
		heaviest_log(symbols, &chunk.heaviest[i]);
}
