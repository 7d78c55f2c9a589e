/* Samples on their way from where they are taken to the collector.
 *
 * Some rings, preallocated; any number of threads put samples in, from signal handlers and
 * allocator hooks, and one thread takes them out. Nobody waits for anybody: a sample that finds
 * its ring full is lost, and counted. */
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
	SAMPLE_PAD, /* fills the end of a ring; never seen by the collector */
	SAMPLE_CPU,
	SAMPLE_WALL,
	SAMPLE_MALLOC,
	SAMPLE_FREE,
	SAMPLE_CRASH,
	SAMPLE_STALL,
	SAMPLE_USER_EVENT, /* the payload is the event's data */
};

/* What a kind puts into args[] is said where that kind is taken. */
struct sample {
	_Atomic uint32_t size; /* of this record; 0 until it is committed */
	uint8_t kind;
	uint8_t state; /* enum jfr_thread_state */
	bool truncated;
	uint8_t context;   /* words of 8 bytes behind pcs[]: see engine/context/thread_context.h */
	uint32_t reserved; /* what size becomes by the commit */
	uint32_t count;    /* addresses in pcs[], or bytes of payload */
	uint64_t ticks;
	uint64_t args[3];
	pid_t tid;
	uint32_t weight; /* how many samples this one stands for */
	union {
		uintptr_t pcs[0]; /* innermost first; from the second on, return addresses */
		uint8_t payload[0];
	};
};

/* The deepest stack that is recorded. */
#define SAMPLE_DEPTH_MAX 1024

/* Allocate SHARDS rings (16 at most) of BYTES each (a power of two), which wake COLLECTOR when half
 * full. Returns 0 or -ENOMEM. Once open they stay until the process ends, as a handler may be
 * inside: opening them again sets COLLECTOR alone. */
int ring_open(size_t shards, size_t bytes, struct wake *collector);

/* In a forked child: nothing is open, and nothing was lost. */
void ring_after_fork(void);

/* The rest is async-signal-safe, but for ring_drain. */

/* Reserve a record with BYTES behind the header, in the ring that HINT (any number that spreads,
 * such as the thread's id) selects. Kind, tid and count are set, ticks is the current time and
 * weight 1; the caller fills in the rest. NULL when the ring is full, which is counted. */
struct sample *ring_reserve(uint32_t hint, enum sample_kind kind, pid_t tid, size_t bytes);

/* Hand the filled record over; it must not be touched afterwards. */
void ring_commit(struct sample *sample);

/* Reserve and fill a record of DEPTH addresses in one, with what the calling thread is working on behind
 * them. Returns it uncommitted, or NULL. */
struct sample *ring_reserve_stack(uint32_t hint, enum sample_kind kind, pid_t tid,
				  const uintptr_t *pcs, size_t depth, bool truncated);

/* The same with CONTEXT behind them, BYTES of it, a multiple of 8, that were taken before. */
struct sample *ring_reserve_stack_with(uint32_t hint, enum sample_kind kind, pid_t tid,
				       const uintptr_t *pcs, size_t depth, bool truncated,
				       const void *context, size_t bytes);

/* What SAMPLE, of a kind with a stack, was working on; NULL: nothing. */
static inline const struct context_record *sample_context(const struct sample *sample)
{
	return sample->context ? (const struct context_record *)(sample->pcs + sample->count)
			       : NULL;
}

/* Borrow a buffer of SAMPLE_DEPTH_MAX addresses, to unwind into before the depth is known; NULL
 * when all are in use, which counts a lost sample. */
uintptr_t *ring_scratch_acquire(void);
void ring_scratch_release(uintptr_t *scratch);

/* Wake the collector. */
void ring_wake(void);

/* Samples lost since ring_open(). */
uint64_t ring_lost(void);

/* Pass every committed record to TAKE, oldest first within a ring, and free it. Collector only.
 * Returns false when some are left, behind one that its producer has not committed yet. */
bool ring_drain(void (*take)(void *context, const struct sample *sample), void *context);

#endif
