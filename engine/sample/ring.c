/* Lock-free ring buffers of samples.
 *
 * A ring is an array of bytes with two counters that only grow. Producers move `head` with a
 * compare-and-swap, which reserves a record; storing the record's size commits it. The collector
 * reads committed records from `tail` on, zeroes them, and moves `tail`. So a reserved record is
 * zero, and its size is zero until the commit. A record never wraps; a pad fills the rest of the
 * ring. */
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
	uint8_t *memory;       /* of all rings and scratch buffers */
	size_t memory_bytes;
	struct wake *_Atomic collector;
	uintptr_t *scratch;
	/* Every thread reads the members above, and writes those below. */
	_Alignas(CACHE_LINE) _Atomic uint64_t lost;
	_Atomic uint32_t scratch_used; /* one bit for each buffer */
	struct ring rings[SHARDS_MAX];
} sample_rings;

_Static_assert(SCRATCH_MAX == 8 * sizeof(sample_rings.scratch_used),
	       "one bit for each scratch buffer");
_Static_assert(sizeof(struct sample) % sizeof(uintptr_t) == 0, "records stay aligned");
_Static_assert(offsetof(struct sample, kind) < 8, "the smallest pad holds size and kind");

/* After a fork, the old memory belonged to threads that do not exist in this process. */
static uint8_t *ring_map_memory(size_t bytes)
{
	if (sample_rings.memory)
		system_unmap(sample_rings.memory, sample_rings.memory_bytes);
	sample_rings.memory = system_map(bytes);
	sample_rings.memory_bytes = bytes;
	if (sample_rings.memory)
		system_empty_in_children(sample_rings.memory, bytes);
	return sample_rings.memory;
}

int ring_open(size_t shards, size_t bytes, struct wake *collector)
{
	size_t scratch_bytes = SCRATCH_MAX * SAMPLE_DEPTH_MAX * sizeof(uintptr_t);
	uint8_t *memory;

	atomic_store(&sample_rings.collector, collector);
	if (sample_rings.shards)
		return 0;
	if (!shards || shards > SHARDS_MAX)
		shards = SHARDS_MAX;
	memory = ring_map_memory(scratch_bytes + shards * bytes);
	if (!memory)
		return -ENOMEM;
	sample_rings.scratch = (uintptr_t *)memory;
	for (size_t i = 0; i < shards; i++)
		sample_rings.rings[i].bytes = memory + scratch_bytes + i * bytes;
	sample_rings.size = bytes;
	atomic_store_explicit(&sample_rings.shards, shards, memory_order_release);
	return 0;
}

void ring_after_fork(void)
{
	size_t shards = atomic_exchange(&sample_rings.shards, 0);

	for (size_t i = 0; i < shards; i++) {
		atomic_store(&sample_rings.rings[i].head, 0);
		atomic_store(&sample_rings.rings[i].tail, 0);
	}
	atomic_store(&sample_rings.scratch_used, 0);
	atomic_store(&sample_rings.lost, 0);
}

static void ring_count_lost(void)
{
	atomic_fetch_add_explicit(&sample_rings.lost, 1, memory_order_relaxed);
}

uint64_t ring_lost(void)
{
	return atomic_load_explicit(&sample_rings.lost, memory_order_relaxed);
}

void ring_wake(void)
{
	struct wake *collector =
		atomic_load_explicit(&sample_rings.collector, memory_order_relaxed);

	if (collector)
		wake_up(collector);
}

/* Repeated at the next sample, so nothing is written while a wake-up seems to be pending. */
static void ring_wake_if_idle(void)
{
	struct wake *collector =
		atomic_load_explicit(&sample_rings.collector, memory_order_relaxed);

	if (collector && !wake_is_pending(collector))
		wake_up(collector);
}

struct sample *ring_reserve(uint32_t hint, enum sample_kind kind, pid_t tid, size_t bytes)
{
	size_t shards = atomic_load_explicit(&sample_rings.shards, memory_order_acquire);
	uint64_t size = sizeof(struct sample) + ((bytes + 7) & ~(size_t)7);
	uint64_t head, tail, start, pad, used;
	struct sample *sample;
	struct ring *ring;

	if (!shards)
		return NULL;
	ring = &sample_rings.rings[hint % shards];
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	for (;;) {
		tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		start = head & (sample_rings.size - 1);
		pad = start + size > sample_rings.size ? sample_rings.size - start : 0;
		used = head + pad + size - tail;
		if (used > sample_rings.size && tail <= head) {
			ring_count_lost();
			ring_wake_if_idle();
			return NULL;
		}
		/* A tail beyond the loaded head means that the head is stale; the exchange then
		 * fails. */
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
	if (used > sample_rings.size / 2)
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

/* Reserve a record with room for BYTES of context after the stack. */
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
	uint32_t used = atomic_load_explicit(&sample_rings.scratch_used, memory_order_relaxed);
	uint32_t bit;

	if (!sample_rings.shards)
		return NULL;
	do {
		if (used == UINT32_MAX) {
			ring_count_lost();
			return NULL;
		}
		bit = ~used & (used + 1); /* the lowest free bit */
	} while (!atomic_compare_exchange_weak_explicit(&sample_rings.scratch_used, &used,
							used | bit, memory_order_acquire,
							memory_order_relaxed));
	return sample_rings.scratch + (size_t)__builtin_ctz(bit) * SAMPLE_DEPTH_MAX;
}

void ring_scratch_release(uintptr_t *scratch)
{
	uint32_t bit = 1u << ((size_t)(scratch - sample_rings.scratch) / SAMPLE_DEPTH_MAX);

	atomic_fetch_and_explicit(&sample_rings.scratch_used, ~bit, memory_order_release);
}

static bool ring_drain_one(struct ring *ring,
			   void (*consume)(void *context, const struct sample *sample),
			   void *context)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	struct sample *sample;
	uint32_t size;

	/* Stop at the initial head: producers may be as fast as this loop. */
	while (tail < head) {
		sample = (struct sample *)(ring->bytes + (tail & (sample_rings.size - 1)));
		size = atomic_load_explicit(&sample->size, memory_order_acquire);
		if (!size)
			return false; /* its producer has not committed it yet */
		if (sample->kind != SAMPLE_PAD)
			consume(context, sample);
		memset((void *)sample, 0, size);
		tail += size;
		atomic_store_explicit(&ring->tail, tail, memory_order_release);
	}
	return true;
}

bool ring_drain(void (*consume)(void *context, const struct sample *sample), void *context)
{
	bool empty = true;

	for (size_t i = 0; i < sample_rings.shards; i++)
		empty &= ring_drain_one(&sample_rings.rings[i], consume, context);
	return empty;
}
