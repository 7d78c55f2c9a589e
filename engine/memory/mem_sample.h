/* Which allocations are sampled: each thread counts bytes down to its next sample.
 *
 * The distance between samples is exponentially distributed, so that every byte allocated has
 * the same chance and no pattern of the program can hide. An allocation of S bytes is taken with
 * probability 1 - exp(-S/interval); it then stands for S over that probability. */
#ifndef ENGINE_MEMORY_MEM_SAMPLE_H
#define ENGINE_MEMORY_MEM_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem_thread {
	uint64_t left; /* bytes until mem_sample_due() must look; zero in a new thread */
	uint64_t random;
	uint32_t epoch; /* of the settings that LEFT was drawn under */
	uint32_t tid;   /* 0 until it is asked for */
	bool capped;    /* LEFT ends before the next sample does */
	bool inside;    /* in the sampler: what is allocated there is its own affair */
};

extern __thread struct mem_thread mem_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether anybody wants the program's calls to be looked at. Until then the interposers hand them on, and read
 * nothing but this; from then on for ever, as there may be allocations that a free has to find. */
extern _Atomic bool mem_looking __attribute__((visibility("hidden")));

static inline bool mem_looks(void)
{
	return __builtin_expect(__atomic_load_n((const bool *)&mem_looking, __ATOMIC_RELAXED), 0);
}

/* Look from now on. All below that want it do so themselves. Async-signal-safe. */
void mem_look(void);

/* The whole cost of an allocation that is looked at and not sampled. True when SIZE bytes go by without
 * notice; else mem_sample_due() decides. Async-signal-safe, as all here: a handler that comes in
 * between can only shift the next sample. */
static inline bool mem_sample_passes(size_t size)
{
	uint64_t left;

	if (__builtin_expect(__builtin_sub_overflow(mem_thread.left, size, &left), 0))
		return false;
	mem_thread.left = left;
	return true;
}

/* After mem_sample_passes() was false: whether this allocation is one to sample; none of the
 * agent's own threads is. Starts the next countdown. */
bool mem_sample_due(size_t size);

/* Sample each INTERVAL bytes from now on, 0 every allocation. Threads notice at their next
 * allocations. */
void mem_sample_on(uint64_t interval);
void mem_sample_off(void);

/* Sampling will soon be on: have threads look often. */
void mem_sample_expect(void);

/* Have every allocation of BYTES or more come to mem_sample_due(), sampling or not;
 * UINT64_MAX: no longer. */
void mem_sample_cap(uint64_t bytes);

/* The bytes that a sampled allocation of SIZE stands for. */
uint64_t mem_sample_weight(uint64_t size);

/* The same for one that stood for OLD_WEIGHT at OLD_SIZE, and was resized to SIZE after another
 * GROWTH bytes were counted down for it. */
uint64_t mem_sample_reweight(uint64_t old_size, uint64_t old_weight, uint64_t growth,
			     uint64_t size);

#endif
