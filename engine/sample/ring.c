/* Samples on their way from where they are taken to the collector.
 *
 * A ring is an array of bytes with two counters that only grow. Producers move `head` with a
 * compare-and-swap, which reserves a record; storing the record's size commits it. The collector
 * takes committed records from `tail` on, zeroes them, and moves `tail`: so whatever a producer
 * reserves is zero, and a record's size is zero until its commit. A record never wraps; what is
 * left at the end of the ring is filled with a pad. */
#include "engine/sample/ring.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/system.h"

#define SHARDS_MAX  16
#define SCRATCH_MAX 32
#define CACHE_LINE  64

struct ring {
	_Alignas(CACHE_LINE) _Atomic uint64_t head;
	_Alignas(CACHE_LINE) _Atomic uint64_t tail;
	uint8_t *bytes;
};

static struct {
	_Atomic size_t shards; /* 0: not open */
	uint64_t size;         /* of each ring, a power of two */
	uint8_t *memory;       /* of all of it */
	size_t memory_bytes;
	struct wake *_Atomic collector;
	uintptr_t *scratch;
	/* What every thread reads is above, and what it writes below. */
	_Alignas(CACHE_LINE) _Atomic uint64_t lost;
	_Atomic uint32_t scratch_used; /* one bit for each buffer */
	struct ring rings[SHARDS_MAX];
} all;

_Static_assert(SCRATCH_MAX == 8 * sizeof(all.scratch_used), "one bit for each scratch buffer");
_Static_assert(sizeof(struct sample) % sizeof(uintptr_t) == 0, "records stay aligned");
_Static_assert(offsetof(struct sample, kind) < 8, "the smallest pad holds size and kind");

/* What lies there after a fork was in the hands of threads that are not here. */
static uint8_t *ring_map_memory(size_t bytes)
{
	if (all.memory)
		system_unmap(all.memory, all.memory_bytes);
	all.memory = system_map(bytes);
	all.memory_bytes = bytes;
	if (all.memory)
		system_empty_in_children(all.memory, bytes);
	return all.memory;
}

int ring_open(size_t shards, size_t bytes, struct wake *collector)
{
	size_t scratch_bytes = SCRATCH_MAX * SAMPLE_DEPTH_MAX * sizeof(uintptr_t);
	uint8_t *memory;

	atomic_store(&all.collector, collector);
	if (all.shards)
		return 0;
	if (!shards || shards > SHARDS_MAX)
		shards = SHARDS_MAX;
	memory = ring_map_memory(scratch_bytes + shards * bytes);
	if (!memory)
		return -ENOMEM;
	all.scratch = (uintptr_t *)memory;
	for (size_t i = 0; i < shards; i++)
		all.rings[i].bytes = memory + scratch_bytes + i * bytes;
	all.size = bytes;
	atomic_store_explicit(&all.shards, shards, memory_order_release);
	return 0;
}

void ring_after_fork(void)
{
	size_t shards = atomic_exchange(&all.shards, 0);

	for (size_t i = 0; i < shards; i++) {
		atomic_store(&all.rings[i].head, 0);
		atomic_store(&all.rings[i].tail, 0);
	}
	atomic_store(&all.scratch_used, 0);
	atomic_store(&all.lost, 0);
}

static void ring_count_lost(void)
{
	atomic_fetch_add_explicit(&all.lost, 1, memory_order_relaxed);
}

uint64_t ring_lost(void)
{
	return atomic_load_explicit(&all.lost, memory_order_relaxed);
}

void ring_wake(void)
{
	wake_up(atomic_load_explicit(&all.collector, memory_order_relaxed));
}

/* Advice that the next sample gives again: where it seems to be on its way, nothing is written. */
static void ring_wake_if_idle(void)
{
	struct wake *collector = atomic_load_explicit(&all.collector, memory_order_relaxed);

	if (!wake_is_pending(collector))
		wake_up(collector);
}

struct sample *ring_reserve(uint32_t hint, enum sample_kind kind, pid_t tid, size_t bytes)
{
	size_t shards = atomic_load_explicit(&all.shards, memory_order_acquire);
	uint64_t size = sizeof(struct sample) + ((bytes + 7) & ~(size_t)7);
	uint64_t head, tail, start, pad, used;
	struct sample *sample;
	struct ring *ring;

	if (!shards)
		return NULL;
	ring = &all.rings[hint % shards];
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	for (;;) {
		tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		start = head & (all.size - 1);
		pad = start + size > all.size ? all.size - start : 0;
		used = head + pad + size - tail;
		if (used > all.size && tail <= head) {
			ring_count_lost();
			ring_wake_if_idle();
			return NULL;
		}
		/* A tail beyond our head tells that the head is old; the exchange then fails. */
		if (atomic_compare_exchange_weak_explicit(&ring->head, &head, head + pad + size,
							  memory_order_relaxed,
							  memory_order_relaxed))
			break;
	}
	if (pad) {
		sample = (struct sample *)(ring->bytes + start);
		/* Its kind is SAMPLE_PAD already: the memory is zero. */
		atomic_store_explicit(&sample->size, (uint32_t)pad, memory_order_release);
		start = 0;
	}
	if (used > all.size / 2)
		ring_wake_if_idle();

	sample = (struct sample *)(ring->bytes + start);
	sample->kind = (uint8_t)kind;
	sample->reserved = (uint32_t)size;
	sample->count = (uint32_t)bytes;
	sample->ticks = clock_ticks();
	sample->tid = tid;
	sample->weight = 1;
	return sample;
}

void ring_commit(struct sample *sample)
{
	atomic_store_explicit(&sample->size, sample->reserved, memory_order_release);
}

/* With room for BYTES of a context behind the stack. */
static struct sample *ring_reserve_with_context(uint32_t hint, enum sample_kind kind, pid_t tid,
						const uintptr_t *pcs, size_t depth, bool truncated,
						size_t bytes)
{
	struct sample *sample = ring_reserve(hint, kind, tid, depth * sizeof(*pcs) + bytes);

	if (!sample)
		return NULL;
	sample->count = (uint32_t)depth;
	sample->context = (uint8_t)(bytes / 8);
	sample->truncated = truncated;
	for (size_t i = 0; i < depth; i++)
		sample->pcs[i] = pcs[i];
	return sample;
}

struct sample *ring_reserve_stack(uint32_t hint, enum sample_kind kind, pid_t tid,
				  const uintptr_t *pcs, size_t depth, bool truncated)
{
	struct thread_context context;
	size_t bytes = thread_context_read(&context);
	struct sample *sample =
		ring_reserve_with_context(hint, kind, tid, pcs, depth, truncated, bytes);

	if (sample && bytes)
		thread_context_write(&context, sample->pcs + depth);
	return sample;
}

struct sample *ring_reserve_stack_with(uint32_t hint, enum sample_kind kind, pid_t tid,
				       const uintptr_t *pcs, size_t depth, bool truncated,
				       const void *context, size_t bytes)
{
	struct sample *sample =
		ring_reserve_with_context(hint, kind, tid, pcs, depth, truncated, bytes);

	if (sample && bytes)
		memcpy(sample->pcs + depth, context, bytes);
	return sample;
}

uintptr_t *ring_scratch_acquire(void)
{
	uint32_t used = atomic_load_explicit(&all.scratch_used, memory_order_relaxed);
	uint32_t bit;

	if (!all.shards)
		return NULL;
	do {
		if (used == UINT32_MAX) {
			ring_count_lost();
			return NULL;
		}
		bit = ~used & (used + 1); /* the lowest that is free */
	} while (!atomic_compare_exchange_weak_explicit(
		&all.scratch_used, &used, used | bit, memory_order_acquire, memory_order_relaxed));
	return all.scratch + (size_t)__builtin_ctz(bit) * SAMPLE_DEPTH_MAX;
}

void ring_scratch_release(uintptr_t *scratch)
{
	uint32_t bit = 1u << ((size_t)(scratch - all.scratch) / SAMPLE_DEPTH_MAX);

	atomic_fetch_and_explicit(&all.scratch_used, ~bit, memory_order_release);
}

static bool ring_drain_one(struct ring *ring,
			   void (*take)(void *context, const struct sample *sample), void *context)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	struct sample *sample;
	uint32_t size;

	/* Up to where it stood at first: producers may be as quick as this loop. */
	while (tail < head) {
		sample = (struct sample *)(ring->bytes + (tail & (all.size - 1)));
		size = atomic_load_explicit(&sample->size, memory_order_acquire);
		if (!size)
			return false; /* its producer is still at it */
		if (sample->kind != SAMPLE_PAD)
			take(context, sample);
		memset((void *)sample, 0, size);
		tail += size;
		atomic_store_explicit(&ring->tail, tail, memory_order_release);
	}
	return true;
}

bool ring_drain(void (*take)(void *context, const struct sample *sample), void *context)
{
	bool empty = true;

	for (size_t i = 0; i < all.shards; i++)
		empty &= ring_drain_one(&all.rings[i], take, context);
	return empty;
}
