/* Native memory: which allocations are sampled, which of those live, and who holds them.
 *
 * The interposers of malloc and its kin call mem_on_...; the collector calls the rest. What is
 * sampled goes out by a port, so that none of this knows rings, unwinders or recordings. */
#ifndef ENGINE_MEMORY_MEM_H
#define ENGINE_MEMORY_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/memory/mem_sample.h"
#include "engine/memory/mem_stacks.h"
#include "engine/memory/mem_table.h"

#define MEM_OFF UINT64_MAX

/* All members are set. Called from the program's threads, within malloc and free, so
 * async-signal-safe; and from several at once. */
struct mem_port {
	/* Lend room for a stack of MEM_STACK_DEPTH_MAX, or NULL; take it back. */
	uintptr_t *(*borrow)(void);
	void (*give_back)(uintptr_t *pcs);
	/* The calling thread's stack, innermost first, beginning somewhere inside of the caller.
	 * Returns the frames written. */
	size_t (*unwind)(uintptr_t *pcs, size_t max, bool *truncated);
	/* P was allocated at BIRTH, or resized later: TICKS is now. PCS[0] lies in the call of
	 * malloc. A P of NULL was refused (see limit below), and then has no weight. */
	void (*allocated)(const void *p, uint64_t ticks, const struct mem_allocation *allocation,
			  const uintptr_t *pcs, size_t depth, bool truncated);
	/* P, which was sampled, is about to be freed, or was given up for another place. TICKS is
	 * before anybody else can have got the same address. */
	void (*freed)(const void *p, uint64_t ticks, const struct mem_allocation *allocation);
	/* Say in the log that SIZE bytes were refused to this stack. */
	void (*refused)(size_t size, const uintptr_t *pcs, size_t depth);
	/* What is retained has grown by the share: see to it that mem_collect() is called soon. */
	void (*grown)(void);
};

struct mem_config {
	uint64_t interval;      /* bytes between samples, 0: all, MEM_OFF: none */
	uint64_t growth_permil; /* or MEM_OFF */
	const struct mem_port *port;
};

/* Early, where mem_start() is to come: what is allocated until then may be missed, and little
 * more. */
void mem_expect(void);

/* The program calls the malloc of BY, a file, in place of ours: the executable, where that defines one, or
 * a library preloaded before us. What it does not hand on is not seen. BY is valid for ever; NULL: none. */
void mem_pass_by(const char *by);

/* What it was told; NULL when calls come to us, or nobody has looked. Any thread. */
const char *mem_passed_by(void);

/* Begin with nothing retained. Returns 0, -ENOMEM, or -EAGAIN when a thread of the program is
 * held up inside of the sampler. */
int mem_start(const struct mem_config *config);

/* No more samples. What is freed from now on still leaves the table. */
void mem_stop(void);

/* Refuse single allocations of BYTES and more, with ENOMEM, sampling or not; MEM_OFF: none.
 * PORT serves until something else is set. */
void mem_limit(uint64_t bytes, const struct mem_port *port);

/* In a forked child, before anything else here: sampling is off, and nobody is inside. */
void mem_fork_child(void);

/* What is retained by one stack now, and what passed through it since mem_start(). Counts and
 * bytes are estimates of all allocations, not only of those sampled. */
struct mem_retained {
	uint64_t count, bytes;
	uint64_t oldest; /* ticks; 0 when nothing is retained */
	struct mem_totals totals;
	const uintptr_t *pcs; /* leaf first; valid in the call only */
	size_t depth;
	bool truncated;
};

struct mem_summary {
	uint64_t count, bytes; /* retained, over all stacks */
	struct mem_totals totals;
	uint64_t evicted, evicted_bytes; /* pushed out of the table: no longer known */
	uint64_t lost;                   /* sampled, and dropped for want of room */
	uint64_t lost_stacks;            /* cut, or not kept */
	bool grown;                      /* the share was passed since the last time */
};

/* Tell EACH what every stack retains, those with totals only included, and sum it up. Calls for
 * growth count from here when it was passed. At chunk ends, by one thread. */
void mem_collect(void (*each)(void *context, const struct mem_retained *retained), void *context,
		 struct mem_summary *summary);

/* Have all stacks lead to the new table of frames, where there is an old one. False: try again later. By the same
 * thread. */
bool mem_keep_frames(void);

/* Bytes of memory that all this takes at most, the port's apart. */
size_t mem_bytes(void);

/* For the interposers; async-signal-safe, errno preserved. Sampling or not: */
extern _Atomic bool mem_sampling __attribute__((visibility("hidden")));
extern _Atomic uint64_t mem_limit_bytes __attribute__((visibility("hidden")));

/* Brackets round an allocation whose mem_sample_passes() was false: SIZE bytes, which CALLER (a
 * return address) asked for. Begin returns false when it is to be refused; *SAMPLED is for end. */
bool mem_on_alloc_begin(size_t size, const void *caller, bool *sampled);
void mem_on_alloc_end(void *p, size_t size, const void *caller, bool sampled);

/* Before the real free of a P that mem_table_watches(). */
void mem_on_free(const void *p);

/* An allocation while the real realloc has it. */
struct mem_resize {
	struct mem_allocation was;
	uint64_t begun; /* ticks */
};

/* Round the real realloc of a P that was sampled: begin is false when it was not. END gets what
 * begin gave, the new address (NULL: it failed and all is as before, unless SIZE is 0), and the
 * bytes that the allocation grew by. */
bool mem_on_realloc_begin(const void *p, struct mem_resize *resize);
void mem_on_realloc_end(const void *p, void *moved, size_t size, uint64_t growth,
			const struct mem_resize *resize, const void *caller);

#endif
