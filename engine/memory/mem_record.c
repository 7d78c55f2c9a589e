/* Output of the native memory sampler: samples to the rings, messages to the log. */
#include "engine/memory/mem_record.h"

#include <stdatomic.h>
#include <string.h>

#include "core/log.h"
#include "core/memory/region.h"
#include "core/system.h"
#include "engine/memory/mem_stack_text.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/ring.h"
#include "engine/sample/threads.h"
#include "engine/unwind/unwind.h"

static struct {
	uint64_t permil;
	void (*_Atomic report_now)(void);
} growth = { .permil = MEM_OFF };

void mem_record_set_growth(uint64_t permil, void (*report_now)(void))
{
	growth.permil = permil;
	atomic_store(&growth.report_now, report_now);
}

static struct mem_config config_with(uint64_t interval)
{
	return (struct mem_config){ .interval = interval,
				    .growth_permil = growth.permil,
				    .port = &mem_record_port };
}

void mem_record_start_early(uint64_t interval)
{
	struct mem_config config = config_with(interval);

	/* The engine sets the collector when it starts. */
	if (!ring_open(SAMPLE_RINGS, SAMPLE_RING_BYTES, NULL))
		mem_start_early(&config);
}

int mem_record_start(uint64_t interval)
{
	struct mem_config config = config_with(interval);

	return mem_start(&config);
}

void mem_record_set_interval(uint64_t interval)
{
	mem_sample_change(interval);
}

static void discard(void *context, const struct sample *sample)
{
	(void)context;
	(void)sample;
}

void mem_record_cancel_early(void)
{
	mem_stop();
	ring_drain(discard, NULL);
}

static pid_t own_tid(void)
{
	if (mem_thread.tid)
		return (pid_t)mem_thread.tid;
	if (!region_is_here()) /* a child of vfork(2), which has the parent's variables */
		return system_thread();
	mem_thread.tid = (uint32_t)system_thread();
	return (pid_t)mem_thread.tid;
}

static size_t mem_record_unwind(uintptr_t *pcs, size_t max, bool *truncated)
{
	struct thread *t = threads_self_by_tid(own_tid());
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	bool known = t && here >= t->stack_low && here < t->stack_high;
	size_t depth = mixed_stack_here(known ? t->stack_high : 0, 0, pcs, max, truncated);

	if (unwind_wants_refresh())
		ring_wake(); /* a compiled table makes the next walks faster */
	if (t)
		atomic_store_explicit(&t->sampled, true, memory_order_relaxed);
	return depth;
}

static void sample_fill(struct sample *s, const void *p, const struct mem_allocation *a)
{
	s->args[0] = (uint64_t)(uintptr_t)p;
	s->args[1] = a->size;
	s->args[2] = a->weight;
}

static void mem_record_malloc(const void *p, uint64_t ticks, const struct mem_allocation *a,
			      const uintptr_t *pcs, size_t depth, bool truncated)
{
	pid_t tid = own_tid();
	struct sample *s =
		ring_reserve_stack((uint32_t)tid, SAMPLE_MALLOC, tid, pcs, depth, truncated);

	if (!s)
		return;
	sample_fill(s, p, a);
	s->ticks = ticks;
	ring_commit(s);
}

static void mem_record_free(const void *p, uint64_t ticks, const struct mem_allocation *a)
{
	pid_t tid = own_tid();
	struct sample *s = ring_reserve((uint32_t)tid, SAMPLE_FREE, tid, sizeof(a->birth));

	if (!s)
		return;
	sample_fill(s, p, a);
	s->ticks = ticks;
	memcpy(s->payload, &a->birth, sizeof(a->birth));
	ring_commit(s);
}

/* Function names would need a lock here; the recording has them. */
static void mem_record_refusal(size_t size, const uintptr_t *pcs, size_t depth)
{
	char where[640];

	mem_stack_text(where, sizeof(where), pcs, depth);
	log_warn("NATIVE_MEM_LIMIT: refused %zu bytes to %s", size, where);
}

static void mem_record_growth(void)
{
	void (*report_now)(void) = atomic_load(&growth.report_now);

	if (report_now)
		report_now();
}

const struct mem_port mem_record_port = {
	.borrow = ring_scratch_acquire,
	.give_back = ring_scratch_release,
	.unwind = mem_record_unwind,
	.allocated = mem_record_malloc,
	.freed = mem_record_free,
	.refused = mem_record_refusal,
	.grown = mem_record_growth,
};

_Static_assert(SAMPLE_DEPTH_MAX >= MEM_STACK_DEPTH_MAX, "a borrowed buffer is large enough");
