/* Native memory sampling: which allocations are sampled, which of them are live, and which
 * stacks retain memory.
 *
 * The interposers of malloc and similar functions call mem_on_...; the collector calls the rest.
 * Output goes through a port, so that this code does not depend on rings, unwinders or
 * recordings. */
#ifndef ENGINE_MEMORY_MEM_H
#define ENGINE_MEMORY_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/memory/mem_sample.h"
#include "engine/memory/mem_stacks.h"
#include "engine/memory/mem_table.h"

#define MEM_OFF UINT64_MAX

/* Output of the sampler. All members are set. Called by the program's threads, concurrently, within
 * malloc and free; so all functions are async-signal-safe. */
struct mem_port {
	/* Acquire a buffer for a stack of MEM_STACK_DEPTH_MAX, or NULL; and release it. */
	uintptr_t *(*borrow)(void);
	void (*give_back)(uintptr_t *pcs);
	/* Write the calling thread's stack, innermost first; it begins somewhere inside the caller.
	 * Returns the number of frames written. */
	size_t (*unwind)(uintptr_t *pcs, size_t max, bool *truncated);
	/* P was allocated at BIRTH, or resized later; TICKS is now. PCS[0] is in the call of
	 * malloc. P is NULL for a refused allocation (see mem_limit), whose weight is 0. */
	void (*allocated)(const void *p, uint64_t ticks, const struct mem_allocation *allocation,
			  const uintptr_t *pcs, size_t depth, bool truncated);
	/* The sampled P is about to be freed, or was moved. TICKS is earlier than any reuse of the
	 * address. */
	void (*freed)(const void *p, uint64_t ticks, const struct mem_allocation *allocation);
	/* Log that SIZE bytes were refused to this stack. */
	void (*refused)(size_t size, const uintptr_t *pcs, size_t depth);
	/* The retained memory has grown by the configured share: make sure that mem_collect() is
	 * called soon. */
	void (*grown)(void);
};

struct mem_config {
	uint64_t interval;      /* bytes between samples, 0: all, MEM_OFF: none */
	uint64_t growth_permil; /* or MEM_OFF */
	const struct mem_port *port;
};

/* The program calls the malloc of the file BY instead of the agent's: the executable, if it defines
 * malloc, or a library that is preloaded before the agent. The agent sees only the calls that BY
 * forwards. BY is valid forever; NULL: none. */
void mem_pass_by(const char *by);

/* The file of mem_pass_by(); NULL when calls reach the agent, or when it has not been checked. Any
 * thread. */
const char *mem_passed_by(void);

/* Start sampling before there is a collector, in the calling thread and its later threads. The first
 * sampled allocation opens the tables; until then nothing is mapped. Called while the program has
 * one thread. Not while sampling. */
void mem_start_early(const struct mem_config *config);

/* Start sampling with nothing retained, or continue what mem_start_early() has started with the
 * same interval. Waits while a thread of the program is delayed inside the sampler, at most for some seconds. Returns 0,
 * -ENOMEM, -EAGAIN when it stays there, or -ECANCELED when the agent's end is requested meanwhile. */
int mem_start(const struct mem_config *config);

/* Stop sampling. Later frees still remove entries from the table. */
void mem_stop(void);

/* Refuse single allocations of BYTES or more with ENOMEM, also without sampling; MEM_OFF: none.
 * PORT is used until another one is set. */
void mem_limit(uint64_t bytes, const struct mem_port *port);

/* In a forked child, before any other call: stop sampling, and reset the readers. */
void mem_fork_child(void);

/* Memory that one stack retains now, and its totals since mem_start(). Counts and bytes are
 * estimates of all allocations, not only of the sampled ones. */
struct mem_retained {
	uint64_t count, bytes;
	uint64_t oldest; /* ticks; 0 when nothing is retained */
	struct mem_totals totals;
	const uintptr_t *pcs; /* leaf first; valid during the call only */
	size_t depth;
	bool truncated;
};

struct mem_summary {
	uint64_t count, bytes; /* retained, over all stacks */
	struct mem_totals totals;
	uint64_t evicted, evicted_bytes; /* evicted from the full table: not tracked any more */
	uint64_t lost;                   /* sampled, and dropped for lack of room */
	uint64_t lost_stacks;            /* truncated, or not stored */
	bool grown;                      /* the share was exceeded since the last call */
};

/* Call EACH with every stack that retains memory or has totals, and set SUMMARY. If the growth
 * share was exceeded, the next growth is measured from here. Called at the end of chunks, by one
 * thread. */
void mem_collect(void (*each)(void *context, const struct mem_retained *retained), void *context,
		 struct mem_summary *summary);

/* Move all stacks to the new frame table, if there is an old one. Returns false if that must be
 * tried again later. By the same thread. */
bool mem_keep_frames(void);

/* For the interposers; async-signal-safe, errno preserved, also without sampling. */
extern _Atomic bool mem_sampling __attribute__((visibility("hidden")));
extern _Atomic uint64_t mem_limit_bytes __attribute__((visibility("hidden")));

/* Called around an allocation of SIZE bytes for which mem_sample_passes() returned false. CALLER is
 * the return address of the call. Begin returns false when the allocation must fail; pass
 * *SAMPLED to end. */
bool mem_on_alloc_begin(size_t size, const void *caller, bool *sampled);
void mem_on_alloc_end(void *p, size_t size, const void *caller, bool sampled);

/* Called after a realloc that has returned P of SIZE bytes, if mem_sample_passes() returned false for the bytes by which it
 * grew. It was not sampled before. */
void mem_on_growth(void *p, size_t size, size_t growth, const void *caller);

/* Called before the real free of a P for which mem_table_watches() is true. */
void mem_on_free(const void *p);

/* State of an allocation during the real realloc. */
struct mem_resize {
	struct mem_allocation was;
	uint64_t begun; /* ticks */
};

/* Called around the real realloc of a sampled P; begin returns false when P was not sampled. END
 * gets the state from begin, the new address, and the number of bytes by which the allocation grew.
 * MOVED is NULL if the call failed and changed nothing, unless SIZE is 0. */
bool mem_on_realloc_begin(const void *p, struct mem_resize *resize);
void mem_on_realloc_end(const void *p, void *moved, size_t size, uint64_t growth,
			const struct mem_resize *resize, const void *caller);

#endif
