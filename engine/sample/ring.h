/* Lock-free ring buffers of samples, from signal handlers and allocator hooks to the collector.
 *
 * The rings are preallocated. Any number of threads write samples; one thread, the collector, reads
 * them. No thread waits: when the ring is full, the sample is lost and counted. */
#ifndef ENGINE_SAMPLE_RING_H
#define ENGINE_SAMPLE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wake.h"
#include "engine/context/thread_context.h"

enum sample_kind {
	SAMPLE_PAD, /* fills the end of a ring; the collector never sees it */
	SAMPLE_CPU,
	SAMPLE_WALL,
	SAMPLE_MALLOC,
	SAMPLE_FREE,
	SAMPLE_CRASH,
	SAMPLE_STALL,
	SAMPLE_USER_EVENT, /* the payload is the event's data */
	SAMPLE_LOCK,       /* a wait for a lock is over */
	SAMPLE_LOCK_OWNER, /* the thread owns a lock that another thread waits for */
};

/* The code that commits a kind of sample documents its args[]. */
struct sample {
	_Atomic uint32_t size; /* of this record; 0 until it is committed */
	uint8_t kind;
	uint8_t state; /* enum jfr_thread_state */
	bool truncated;
	uint8_t context;   /* words of 8 bytes after pcs[]: see thread_context.h */
	uint32_t reserved; /* the commit copies this to size */
	uint32_t count;    /* addresses in pcs[], or bytes of payload */
	uint64_t ticks;
	uint64_t args[3];
	pid_t tid;
	uint32_t weight; /* number of samples that this one stands for */
	union {
		uintptr_t pcs[0]; /* innermost first; all but the first are return addresses */
		uint8_t payload[0];
	};
};

/* Maximum depth of a recorded stack. */
#define SAMPLE_DEPTH_MAX 1024

/* Two rings hold the samples of a tenth of a second of 100 threads, each 60 frames deep, at 10
 * ms. */
#define SAMPLE_RINGS      2
#define SAMPLE_RING_BYTES (256u << 10)

/* Allocate SHARDS rings (16 at most) of BYTES each (a power of two). A ring that is half full wakes
 * COLLECTOR (NULL: none yet). Returns 0 or -ENOMEM. The rings are never freed, because a handler
 * may use them; opening them again only sets COLLECTOR. */
int ring_open(size_t shards, size_t bytes, struct wake *collector);

/* Reset the rings and the count of lost samples in a forked child. */
void ring_after_fork(void);

/* The functions below are async-signal-safe, except ring_drain(). */

/* Reserve a record with BYTES after the header. HINT selects the ring: any number that spreads,
 * such as the thread id. Sets kind, tid and count, the current time in ticks, and weight 1; the
 * caller fills in the rest. Returns NULL when the ring is full; that sample is counted as lost. */
struct sample *ring_reserve(uint32_t hint, enum sample_kind kind, pid_t tid, size_t bytes);

/* Pass the filled record to the collector. The caller must not touch it afterwards. */
void ring_commit(struct sample *sample);

/* Reserve a record with the DEPTH addresses in PCS and the calling thread's context after them.
 * Returns the uncommitted record, or NULL. */
struct sample *ring_reserve_stack(uint32_t hint, enum sample_kind kind, pid_t tid,
				  const uintptr_t *pcs, size_t depth, bool truncated);

/* Like ring_reserve_stack(), with a context that was read earlier: BYTES at CONTEXT, a multiple of
 * 8. */
struct sample *ring_reserve_stack_with(uint32_t hint, enum sample_kind kind, pid_t tid,
				       const uintptr_t *pcs, size_t depth, bool truncated,
				       const void *context, size_t bytes);

/* The context of SAMPLE, whose kind has a stack; NULL if it has none. */
static inline const struct context_record *sample_context(const struct sample *sample)
{
	return sample->context ? (const struct context_record *)(sample->pcs + sample->count)
			       : NULL;
}

/* Acquire a buffer of SAMPLE_DEPTH_MAX addresses to unwind into, before the depth is known. Returns
 * NULL when all are in use; that sample is counted as lost. */
uintptr_t *ring_scratch_acquire(void);
void ring_scratch_release(uintptr_t *scratch);

/* Wake the collector, if there is one. */
void ring_wake(void);

/* Samples lost since ring_open(). */
uint64_t ring_lost(void);

/* Pass every committed record to CONSUME, oldest first within a ring, and free it. Called by the
 * collector only. Returns false when records remain after one that its producer has not committed
 * yet. */
bool ring_drain(void (*consume)(void *context, const struct sample *sample), void *context);

#endif
