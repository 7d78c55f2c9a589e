/* What native memory sampling tells, on its way: to the rings as samples, to the log in words.
 *
 * The args of a SAMPLE_MALLOC are address, size and weight; of a SAMPLE_FREE too, and its payload
 * is the time of birth. */
#include "engine/memory/mem_events.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/log.h"
#include "engine/memory/mem_where.h"
#include "engine/sample/ring.h"
#include "engine/sample/threads.h"
#include "engine/unwind/unwind.h"

/* Stacks named in the log when memory grows, and frames of each. */
#define HEAVIEST   5
#define LOG_FRAMES 12

static struct {
	uint64_t permil;
	void (*_Atomic report_now)(void);
} growth = { .permil = MEM_OFF };

void mem_events_growth(uint64_t permil, void (*report_now)(void))
{
	growth.permil = permil;
	atomic_store(&growth.report_now, report_now);
}

int mem_events_start(uint64_t interval)
{
	struct mem_config config = { .interval = interval,
				     .growth_permil = growth.permil,
				     .port = &mem_events };

	return mem_start(&config);
}

static pid_t own_tid(void)
{
	if (!mem_thread.tid)
		mem_thread.tid = (uint32_t)gettid();
	return (pid_t)mem_thread.tid;
}

static size_t walk(uintptr_t *pcs, size_t max, bool *truncated)
{
	struct thread *t = threads_self_by(own_tid());
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	bool known = t && here >= t->stack_low && here < t->stack_high;
	size_t depth = unwind_here(known ? t->stack_high : 0, 0, pcs, max, truncated);

	if (unwind_wants_refresh())
		ring_wake(); /* a table makes the next walks faster */
	if (t)
		atomic_store_explicit(&t->sampled, true, memory_order_relaxed);
	return depth;
}

static void fill(struct sample *s, const void *p, const struct mem_allocation *a)
{
	s->args[0] = (uint64_t)(uintptr_t)p;
	s->args[1] = a->size;
	s->args[2] = a->weight;
}

static void send_malloc(const void *p, uint64_t ticks, const struct mem_allocation *a,
			const uintptr_t *pcs, size_t depth, bool truncated)
{
	pid_t tid = own_tid();
	struct sample *s =
		ring_reserve_stack((uint32_t)tid, SAMPLE_MALLOC, tid, pcs, depth, truncated);

	if (!s)
		return;
	fill(s, p, a);
	s->ticks = ticks;
	ring_commit(s);
}

static void send_free(const void *p, uint64_t ticks, const struct mem_allocation *a)
{
	pid_t tid = own_tid();
	struct sample *s = ring_reserve((uint32_t)tid, SAMPLE_FREE, tid, sizeof(a->birth));

	if (!s)
		return;
	fill(s, p, a);
	s->ticks = ticks;
	memcpy(s->payload, &a->birth, sizeof(a->birth));
	ring_commit(s);
}

/* Names are not to be had here, without a lock: the recording has them. */
static void say_refused(size_t size, const uintptr_t *pcs, size_t depth)
{
	char where[640];

	mem_where(where, sizeof(where), pcs, depth);
	log_warn("NATIVE_MEM_LIMIT: refused %zu bytes to %s", size, where);
}

static void report_growth(void)
{
	void (*report_now)(void) = atomic_load(&growth.report_now);

	if (report_now)
		report_now();
}

const struct mem_port mem_events = {
	.borrow = ring_scratch_take,
	.give_back = ring_scratch_give,
	.unwind = walk,
	.allocated = send_malloc,
	.freed = send_free,
	.refused = say_refused,
	.grown = report_growth,
};

_Static_assert(SAMPLE_DEPTH_MAX >= MEM_STACK_DEPTH_MAX, "a borrowed buffer is large enough");

void mem_events_malloc(struct jfr_writer *jfr, const struct sample *s)
{
	jfr_malloc(jfr, s->ticks, s->tid, jfr_stack(jfr, s->pcs, s->count, s->truncated),
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

static void note_heavy(struct chunk *chunk, const struct mem_retained *r)
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
		     jfr_stack(chunk->jfr, r->pcs, r->depth, r->truncated), &out);
	note_heavy(chunk, r);
}

static void say_heavy(struct symbols *symbols, const struct heavy *h)
{
	struct symbol names[LOG_FRAMES] = { 0 };
	struct buf line = BUF_INIT(800);
	uintptr_t pcs[LOG_FRAMES];
	const char *stack;

	for (size_t i = 0; i < h->depth; i++)
		pcs[i] = i ? symbols_call_site(h->pcs[i]) : h->pcs[i];
	if (symbols_resolve(symbols, pcs, h->depth, names))
		memset(names, 0, sizeof(names));
	/* A long line ends early: names of C++ can be endless. */
	for (size_t i = 0; i < h->depth; i++)
		if (buf_printf(&line, "%s%.120s", i ? " < " : "",
			       names[i].name ? names[i].name : "[unknown]"))
			break;
	stack = buf_string(&line);
	log_warn("NATIVE_MEM_GROWTH: %llu bytes in %llu allocations: %s",
		 (unsigned long long)h->bytes, (unsigned long long)h->count,
		 stack ? stack : "[no memory for their stack]");
	buf_free(&line);
}

void mem_events_chunk(struct jfr_writer *jfr, struct symbols *symbols, uint64_t ticks,
		      uint64_t *missed)
{
	static uint64_t before;
	struct chunk chunk = { .jfr = jfr, .ticks = ticks };
	struct mem_summary summary;
	uint64_t now;

	mem_collect(write_retained, &chunk, &summary);
	now = summary.evicted + summary.lost;
	*missed += now - (now >= before ? before : 0); /* less after another start */
	before = now;
	if (!summary.grown)
		return;
	log_warn("NATIVE_MEM_GROWTH: %llu bytes are retained now, in %llu allocations; most by:",
		 (unsigned long long)summary.bytes, (unsigned long long)summary.count);
	for (size_t i = 0; i < HEAVIEST && chunk.heaviest[i].bytes; i++)
		say_heavy(symbols, &chunk.heaviest[i]);
}
