/* Selects the sampled allocations: each thread counts bytes down to its next sample.
 *
 * The distance between samples is exponentially distributed. So every allocated byte has the same
 * probability, and no pattern of the program can bias the samples. An allocation of S bytes is
 * sampled with probability 1 - exp(-S/interval); its weight is S divided by that probability.
 * Intervals that the overhead budget has lengthened are kept as a share (mem_sample_change()).
 *
 * A thread whose samples take too much of its CPU time gets a longer interval of its own. */
#ifndef ENGINE_MEMORY_MEM_SAMPLE_H
#define ENGINE_MEMORY_MEM_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem_thread {
	uint64_t left; /* bytes until mem_sample_due() must be called; zero in a new thread */
	uint64_t random;
	uint32_t epoch;    /* epoch of the settings with which LEFT was drawn */
	uint32_t tid;      /* 0 until it is read */
	bool capped;       /* LEFT ends before the next sample does */
	bool inside;       /* in the sampler: its own allocations are not sampled */
	uint64_t interval; /* of this thread, if it is longer than that of the settings */
	/* CPU time for samples: not paid for, and since the last check; and the times of that check. */
	uint64_t debt_ns, spent_ns, checked_ns, checked_cpu_ns;
};

extern __thread struct mem_thread mem_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* True when the program's allocations must be inspected. Until then the interposers only forward
 * calls, and read nothing but this flag. It is never reset, because a free must find earlier
 * sampled allocations. */
extern _Atomic bool mem_looking __attribute__((visibility("hidden")));

static inline bool mem_looks(void)
{
	return __builtin_expect(__atomic_load_n((const bool *)&mem_looking, __ATOMIC_RELAXED), 0);
}

/* Inspect allocations from now on. The functions below call it where needed. Async-signal-safe. */
void mem_look(void);

/* The whole cost of an inspected allocation that is not sampled. Returns true when SIZE bytes pass;
 * otherwise mem_sample_due() decides. Async-signal-safe, as all functions here: a handler in
 * between can only shift the next sample. */
static inline bool mem_sample_passes(size_t size)
{
	uint64_t left;

	if (__builtin_expect(__builtin_sub_overflow(mem_thread.left, size, &left), 0))
		return false;
	mem_thread.left = left;
	return true;
}

/* After mem_sample_passes() returned false: true if this allocation is sampled, which is never so
 * in the agent's own threads. Starts the next countdown. */
bool mem_sample_due(size_t size);

/* Sample every INTERVAL bytes from now on, 0: every allocation. Threads notice it at their next
 * allocations. */
void mem_sample_on(uint64_t interval);

/* INTERVAL replaces that of mem_sample_on(). If it is longer, allocations that are larger than both are sampled less often
 * too: so few samples of them are as cheap as few samples of small ones. */
void mem_sample_change(uint64_t interval);
void mem_sample_off(void);

/* Pass every allocation of BYTES or more to mem_sample_due(), also without sampling; UINT64_MAX:
 * stop that. */
void mem_sample_cap(uint64_t bytes);

/* Add NS, the CPU time of a sample that ended at NOW_NS (monotonic clock). Returns true if mem_sample_check() is due. */
bool mem_sample_spend(uint64_t ns, uint64_t now_ns);

/* At CPU_NS of the thread's CPU time: lengthen its interval, or shorten it again. Samples of the interval 0 are not
 * limited: every allocation was asked for. */
void mem_sample_check(uint64_t cpu_ns);

/* True if every allocation is sampled. */
bool mem_sample_takes_all(void);

/* The weight in bytes of a sampled allocation of SIZE. */
uint64_t mem_sample_weight(uint64_t size);

/* The new weight of an allocation that had OLD_WEIGHT at OLD_SIZE and was resized to SIZE, after
 * GROWTH further bytes were counted down for it. */
uint64_t mem_sample_reweight(uint64_t old_size, uint64_t old_weight, uint64_t growth,
			     uint64_t size);

#endif
