/* Native memory sampling: from a sampled allocation to the retained memory. */
#include "engine/memory/mem.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/agent.h"
#include "core/clock.h"
#include "core/cost.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "engine/memory/mem_growth.h"

/* Maximum number of the agent's frames between the unwinder and the caller of malloc. */
#define OWN_FRAMES_MAX 16

_Atomic bool mem_sampling;
_Atomic uint64_t mem_limit_bytes = MEM_OFF;

static struct {
	const struct mem_port *_Atomic port;
	_Atomic uint64_t lost, evicted, evicted_bytes;
	struct live *live; /* used by the collector; MEM_STACKS_MAX of them */
} mem_sampling_state;

/* State of the tables after mem_start_early(). */
enum {
	EARLY_NONE,    /* mem_start() has opened them, or nothing has */
	EARLY_WAITING, /* the first sampled allocation opens them */
	EARLY_OPENING, /* a thread of the program does */
	EARLY_OPEN,
	EARLY_FAILED,
};

static struct {
	_Atomic uint32_t state;
	struct mem_config config;
} early;

/* Number of checks while a thread of the program opens the tables. */
#define OPENING_CHECKS_MAX 1000

/* Pauses until no thread of the program is in these functions: on a busy machine the kernel may suspend one there. */
#define START_PAUSES_MAX 1000
#define START_PAUSE_NS   1000000u

/* Live allocations of one stack, while the table is read. */
struct live {
	uint64_t count16, bytes, oldest;
};

static uint64_t count16(const struct mem_allocation *a)
{
	return a->size ? a->weight * 16 / a->size : 16;
}

static const struct mem_port *port_get(void)
{
	return atomic_load_explicit(&mem_sampling_state.port, memory_order_acquire);
}

static void mem_count_lost(void)
{
	atomic_fetch_add_explicit(&mem_sampling_state.lost, 1, memory_order_relaxed);
}

/* Get the caller's stack; the frames inside CALLER are the agent's. Returns its depth; PCS[0] is
 * moved into the call. */
static size_t mem_caller_stack(const struct mem_port *port, uintptr_t *pcs, const void *caller,
			       bool *truncated)
{
	size_t depth, own = 0;

	*truncated = true;
	depth = port->unwind(pcs, MEM_STACK_DEPTH_MAX, truncated);
	while (own < depth && own < OWN_FRAMES_MAX && pcs[own] != (uintptr_t)caller)
		own++;
	if (own == depth || own == OWN_FRAMES_MAX) {
		/* The walk ended within the agent's frames. */
		own = 0;
		depth = 1;
		*truncated = true;
	}
	depth -= own;
	memmove(pcs, pcs + own, depth * sizeof(*pcs));
	pcs[0] = (uintptr_t)caller - 1;
	return depth;
}

static void mem_remove_stale(const void *p)
{
	struct mem_allocation stale;

	if (!mem_table_watches(p) || !mem_table_remove(p, &stale))
		return;
	mem_stacks_freed(stale.stack, count16(&stale), stale.weight);
	mem_growth_subtract(stale.weight);
}

static void mem_insert(const void *p, const struct mem_allocation *a)
{
	struct mem_allocation evicted;

	if (!mem_table_insert(p, a, &evicted))
		return;
	mem_growth_subtract(evicted.weight);
	atomic_fetch_add_explicit(&mem_sampling_state.evicted, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&mem_sampling_state.evicted_bytes, evicted.weight,
				  memory_order_relaxed);
}

static void mem_track(const struct mem_port *port, const void *p, const struct mem_allocation *a)
{
	mem_insert(p, a);
	if (mem_growth_add(a->weight))
		port->grown();
}

/* Called between mem_stacks_enter and leave. */
static void mem_record(const void *p, struct mem_allocation *a, uint64_t ticks, const void *caller)
{
	const struct mem_port *port = port_get();
	uintptr_t *pcs = port->borrow();
	bool truncated;
	size_t depth;

	if (!pcs) {
		mem_count_lost();
		return;
	}
	depth = mem_caller_stack(port, pcs, caller, &truncated);
	a->stack = mem_stacks_add(pcs, depth, truncated);
	mem_stacks_allocated(a->stack, count16(a), a->weight);
	/* An old entry was freed in a way that the agent does not see; otherwise the address could
	 * not be reused. */
	mem_remove_stale(p);
	mem_track(port, p, a);
	port->allocated(p, ticks, a, pcs, depth, truncated);
	port->give_back(pcs);
}

static int mem_open_tables(void)
{
	int err = mem_table_open();

	if (!err)
		err = mem_stacks_open();
	if (!err && !mem_sampling_state.live) {
		mem_sampling_state.live =
			system_map(MEM_STACKS_MAX * sizeof(*mem_sampling_state.live));
		err = mem_sampling_state.live ? 0 : -ENOMEM;
	}
	return err;
}

static int mem_open(const struct mem_config *config)
{
	int err = mem_open_tables();

	if (err)
		return err;
	if (!mem_stacks_clear(mem_table_clear))
		return -EAGAIN;
	mem_growth_start(config->growth_permil);
	return 0;
}

/* True if the tables are open. After mem_start_early() the first sampled allocation opens them;
 * those of other threads at this moment are lost. */
static bool mem_early_open(void)
{
	uint32_t state = atomic_load_explicit(&early.state, memory_order_acquire);
	bool is_open;

	if (state != EARLY_WAITING)
		return state == EARLY_NONE || state == EARLY_OPEN;
	if (!atomic_compare_exchange_strong(&early.state, &state, EARLY_OPENING))
		return false;
	is_open = !mem_open(&early.config);
	atomic_store(&early.state, is_open ? EARLY_OPEN : EARLY_FAILED);
	return is_open;
}

/* The recording gets the refused call as an allocation without an address. */
static void mem_record_refused(size_t size, const void *caller)
{
	const struct mem_port *port = port_get();
	struct mem_allocation a = { .size = size, .birth = clock_ticks() };
	uintptr_t *pcs = port->borrow(), alone[1] = { (uintptr_t)caller - 1 };
	bool truncated;
	size_t depth;

	if (!pcs) {
		port->refused(size, alone, 1);
		return;
	}
	depth = mem_caller_stack(port, pcs, caller, &truncated);
	port->refused(size, pcs, depth);
	port->allocated(NULL, a.birth, &a, pcs, depth, truncated);
	port->give_back(pcs);
}

/* Count the cost of a hook that began at BEGIN_NS and has recorded SAMPLES. IS_LIMITED: the thread's interval becomes
 * longer if such hooks take too much of its time. Not if only sampled blocks cause them: the weight of such a block would
 * depend on whether it is sampled. */
static void mem_count_cost(uint64_t begin_ns, uint64_t samples, bool is_limited)
{
	uint64_t now_ns = clock_monotonic_ns(), ns = now_ns - begin_ns;

	ns = ns < COST_HOOK_MAX_NS ? ns : COST_HOOK_MAX_NS;
	cost_add(COST_MEMORY, ns, samples);
	if (is_limited && mem_sample_spend(ns, now_ns))
		mem_sample_check(clock_cpu_ns());
}

bool mem_on_alloc_begin(size_t size, const void *caller, bool *sampled)
{
	struct mem_thread *t = &mem_thread;
	uint64_t limit = atomic_load_explicit(&mem_limit_bytes, memory_order_acquire);
	int saved = errno;
	bool refuse;

	*sampled = mem_sample_due(size);
	refuse = size >= limit && limit != MEM_OFF && !t->inside && !own_thread_is();
	if (!refuse) {
		/* If an allocator's calloc calls malloc, the allocation is counted once. */
		t->inside |= *sampled;
		return true;
	}
	t->inside = true;
	mem_record_refused(size, caller);
	t->inside = false;
	errno = saved;
	return false;
}

void mem_on_alloc_end(void *p, size_t size, const void *caller, bool sampled)
{
	struct mem_allocation a = { .size = size };
	uint64_t begin_ns;
	int saved = errno;

	if (!sampled)
		return;
	begin_ns = clock_monotonic_ns();
	if (p && mem_early_open() && mem_stacks_enter()) {
		a.weight = mem_sample_weight(size);
		a.birth = clock_ticks();
		mem_record(p, &a, a.birth, caller);
		mem_stacks_leave();
	} else if (p) {
		mem_count_lost();
	}
	mem_count_cost(begin_ns, 1, true);
	mem_thread.inside = false;
	errno = saved;
}

void mem_on_growth(void *p, size_t size, size_t growth, const void *caller)
{
	bool sampled = mem_sample_due(growth);

	mem_thread.inside |= sampled;
	mem_on_alloc_end(p, size, caller, sampled);
}

/* False also while the table has entries of the parent process only. */
static bool mem_is_recording(void)
{
	return atomic_load_explicit(&mem_sampling, memory_order_relaxed) &&
	       atomic_load_explicit(&early.state, memory_order_relaxed) != EARLY_WAITING;
}

static void mem_end_life(const void *p, uint64_t ticks, const struct mem_allocation *a)
{
	mem_stacks_freed(a->stack, count16(a), a->weight);
	mem_growth_subtract(a->weight);
	if (mem_is_recording())
		port_get()->freed(p, ticks, a);
}

/* Returns whether P was in the table. */
static bool mem_end_tracking(const void *p)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct mem_allocation a;
	int saved = errno;
	bool found = mem_table_remove(p, &a);

	if (found) {
		mem_end_life(p, clock_ticks(), &a);
		mem_count_cost(begin_ns, 0, true);
	}
	errno = saved;
	return found;
}

void mem_on_free(const void *p)
{
	mem_end_tracking(p);
}

/* The thread stays a reader until the end, because the stack's id may be used again. */
bool mem_on_realloc_begin(const void *p, struct mem_resize *resize)
{
	if (!mem_stacks_enter()) {
		/* The allocation cannot be tracked to its new address, and its old entry would be
		 * wrong. It still lives, so this is a loss. */
		if (mem_end_tracking(p))
			mem_count_lost();
		return false;
	}
	if (mem_table_remove(p, &resize->was)) {
		resize->begun = clock_ticks();
		return true;
	}
	mem_stacks_leave();
	return false;
}

static uint64_t excess(uint64_t more, uint64_t than)
{
	return more > than ? more - than : 0;
}

/* The allocation WAS at P is NOW, and keeps its stack. */
static void mem_resize_in_place(const void *p, const struct mem_allocation *was,
				const struct mem_allocation *now)
{
	mem_stacks_allocated(now->stack, excess(count16(now), count16(was)),
			     excess(now->weight, was->weight));
	mem_stacks_freed(now->stack, excess(count16(was), count16(now)),
			 excess(was->weight, now->weight));
	mem_growth_subtract(was->weight);
	mem_track(port_get(), p, now);
}

/* True if the first four binary digits of both sizes are the same. Some programs append to a large block by a realloc
 * for each few bytes, most of which do not move it. If each were recorded, they would take ten times as long. */
static bool mem_resize_is_small(uint64_t from, uint64_t to)
{
	int shift = 60 - __builtin_clzll(from | to | 8);

	return from >> shift == to >> shift && !mem_sample_takes_all();
}

void mem_on_realloc_end(const void *p, void *moved, size_t size, uint64_t growth,
			const struct mem_resize *resize, const void *caller)
{
	const struct mem_allocation *was = &resize->was;
	struct mem_allocation a = *was;
	uint64_t begin_ns = clock_monotonic_ns();
	bool inside = mem_thread.inside;
	bool is_in_place =
		moved == p && size && mem_is_recording() && mem_resize_is_small(was->size, size);
	int saved = errno;

	mem_thread.inside = true;
	a.size = size;
	a.weight = mem_sample_reweight(was->size, was->weight, growth, size);
	if (!moved && size) {
		mem_insert(p, was);
	} else if (is_in_place) {
		mem_resize_in_place(p, was, &a);
	} else {
		mem_end_life(p, resize->begun, was);
		if (moved && size && mem_is_recording())
			mem_record(moved, &a, clock_ticks(), caller);
	}
	mem_count_cost(begin_ns, is_in_place ? 0 : 1, !is_in_place);
	mem_thread.inside = inside;
	mem_stacks_leave();
	errno = saved;
}

void mem_limit(uint64_t bytes, const struct mem_port *port)
{
	if (port)
		atomic_store(&mem_sampling_state.port, port);
	atomic_store(&mem_limit_bytes, bytes);
	mem_sample_cap(bytes);
}

static const char *_Atomic passed_by;

void mem_pass_by(const char *by)
{
	atomic_store(&passed_by, by);
}

const char *mem_passed_by(void)
{
	return atomic_load(&passed_by);
}

static void mem_reset_output(const struct mem_port *port)
{
	atomic_store(&mem_sampling_state.port, port);
	atomic_store(&mem_sampling_state.lost, 0);
	atomic_store(&mem_sampling_state.evicted, 0);
	atomic_store(&mem_sampling_state.evicted_bytes, 0);
}

void mem_start_early(const struct mem_config *config)
{
	if (config->interval == MEM_OFF)
		return;
	early.config = *config;
	mem_reset_output(config->port);
	atomic_store(&early.state, EARLY_WAITING);
	atomic_store(&mem_sampling, true);
	mem_sample_on(config->interval);
	mem_thread.left = 0; /* counted down before, with no interval or another process's */
}

/* Wait until no thread of the program is opening the tables. Returns false if one stays. */
static bool mem_early_settle(void)
{
	for (int i = 0; i < OPENING_CHECKS_MAX; i++) {
		if (atomic_load(&early.state) != EARLY_OPENING)
			return true;
		system_yield();
	}
	return false;
}

/* Continue what mem_start_early() has started. Returns false if that is not possible. */
static bool mem_early_continue(const struct mem_config *config)
{
	uint32_t open = EARLY_OPEN;

	return atomic_load(&mem_sampling) && early.config.interval == config->interval &&
	       mem_early_open() && atomic_compare_exchange_strong(&early.state, &open, EARLY_NONE);
}

static int mem_try_start(const struct mem_config *config)
{
	int err;

	if (!mem_early_settle())
		return -EAGAIN;
	if (mem_early_continue(config))
		return 0;
	mem_stop();
	err = mem_open(config);
	if (err)
		return err;
	mem_reset_output(config->port);
	if (config->interval != MEM_OFF) {
		atomic_store(&mem_sampling, true);
		mem_sample_on(config->interval);
	}
	return 0;
}

int mem_start(const struct mem_config *config)
{
	int err = mem_try_start(config);

	for (int i = 0; err == -EAGAIN && i < START_PAUSES_MAX; i++) {
		if (agent_stop_is_requested())
			return -ECANCELED;
		system_sleep(START_PAUSE_NS);
		err = mem_try_start(config);
	}
	return err;
}

static void mem_early_end(void)
{
	uint32_t state = atomic_load(&early.state);

	/* A thread that is opening the tables goes on. */
	while (state != EARLY_OPENING &&
	       !atomic_compare_exchange_weak(&early.state, &state, EARLY_NONE))
		;
}

void mem_stop(void)
{
	atomic_store(&mem_sampling, false);
	mem_sample_off();
	mem_early_end();
}

void mem_fork_child(void)
{
	mem_stop();
	atomic_store(&early.state, EARLY_NONE);
	mem_thread.inside = false;
	mem_thread.tid = 0;
	mem_thread.random = 0; /* otherwise all children would sample the same allocations */
	mem_stacks_fork_child();
}

static void add_live(void *context, const struct mem_allocation *a)
{
	struct live *live = &mem_sampling_state.live[a->stack];

	(void)context;
	live->count16 += count16(a);
	live->bytes += a->weight;
	if (!live->oldest || a->birth < live->oldest)
		live->oldest = a->birth;
}

static void add_totals(struct mem_totals *sum, const struct mem_totals *t)
{
	sum->allocated_count += t->allocated_count;
	sum->allocated_bytes += t->allocated_bytes;
	sum->freed_count += t->freed_count;
	sum->freed_bytes += t->freed_bytes;
}

static void mem_sum_live(void)
{
	memset(mem_sampling_state.live, 0, MEM_STACKS_MAX * sizeof(*mem_sampling_state.live));
	mem_table_each(add_live, NULL);
}

static void mark_live(bool mark[MEM_STACKS_MAX])
{
	mem_sum_live();
	for (uint32_t id = 0; id < MEM_STACKS_MAX; id++)
		mark[id] = mem_sampling_state.live[id].bytes != 0;
}

void mem_collect(void (*each)(void *context, const struct mem_retained *retained), void *context,
		 struct mem_summary *summary)
{
	static uintptr_t
		pcs[MEM_STACK_DEPTH_MAX]; /* too large for the small stack of the agent's thread */
	struct mem_retained r = { .pcs = pcs };

	memset(summary, 0, sizeof(*summary));
	if (!mem_sampling_state.live)
		return;
	mem_sum_live();
	for (uint32_t id = 0; id < mem_stacks_end(); id++) {
		mem_stacks_totals(id, &r.totals);
		r.count = mem_sampling_state.live[id].count16 / 16;
		r.bytes = mem_sampling_state.live[id].bytes;
		r.oldest = mem_sampling_state.live[id].oldest;
		if (!r.totals.allocated_bytes && !r.bytes)
			continue;
		r.depth = mem_stacks_get(id, pcs, MEM_STACK_DEPTH_MAX, &r.truncated);
		each(context, &r);
		summary->count += r.count;
		summary->bytes += r.bytes;
		add_totals(&summary->totals, &r.totals);
	}
	summary->evicted = atomic_load(&mem_sampling_state.evicted);
	summary->evicted_bytes = atomic_load(&mem_sampling_state.evicted_bytes);
	summary->lost = atomic_load(&mem_sampling_state.lost);
	summary->lost_stacks = mem_stacks_lost();
	summary->grown = mem_growth_measure();
	if (mem_stacks_are_crowded())
		mem_stacks_remove_unmarked(mark_live);
}

static void mark_all(bool mark[MEM_STACKS_MAX])
{
	memset(mark, true, MEM_STACKS_MAX * sizeof(*mark));
}

bool mem_keep_frames(void)
{
	return !mem_sampling_state.live || mem_stacks_remove_unmarked(mark_all);
}
