/* Table of the live sampled allocations, by address.
 *
 * An address belongs to three buckets of eight slots. The near bucket covers the 512 bytes around
 * the address, so that repeated allocations and frees use few cache lines. Once half of it is in
 * use, the address is inserted into one of the two far buckets, the one with more room. So the
 * table fills to two thirds before it evicts anything.
 *
 * A thread owns a slot after it has changed the address to BUSY by compare-and-swap. It then reads
 * or writes the entry alone, until it stores the next address. A free only searches for an address
 * that its caller got from this allocator, and that no other thread can free at the same time. */
#include "engine/memory/mem_table.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/system.h"

#define WAYS    8
#define BUCKETS (MEM_TABLE_MAX / WAYS)

/* Invalid addresses: the first page is never mapped. */
#define FREE 0u
#define BUSY 1u

/* A saturated counter of mem_filter stays forever, because its true count is lost. */
#define SATURATED 255

_Atomic uint8_t mem_filter[1u << MEM_FILTER_BITS];

/* Each member is atomic for a concurrent reader; `version` shows it a change in between. */
struct entry {
	_Atomic uint64_t size, weight, birth;
	_Atomic uint32_t stack, version;
};

struct table {
	_Atomic uintptr_t address[BUCKETS][WAYS];
	struct entry entry[BUCKETS][WAYS];
};

static struct table *_Atomic opened;

_Static_assert(sizeof(struct table) <= 1310720, "part of the sampler's 4 MiB");

int mem_table_open(void)
{
	struct table *t;

	if (atomic_load(&opened))
		return 0;
	t = system_map(sizeof(*t));
	if (!t)
		return -ENOMEM;
	atomic_store(&opened, t);
	return 0;
}

static struct table *table_get(void)
{
	return atomic_load_explicit(&opened, memory_order_acquire);
}

void mem_table_watch(const void *p)
{
	_Atomic uint8_t *count = &mem_filter[mem_filter_index(p)];
	uint8_t now = atomic_load_explicit(count, memory_order_relaxed);

	while (now != SATURATED &&
	       !atomic_compare_exchange_weak_explicit(count, &now, (uint8_t)(now + 1),
						      memory_order_release, memory_order_relaxed))
		;
}

static void filter_remove(uintptr_t address)
{
	_Atomic uint8_t *count = &mem_filter[mem_filter_index((const void *)address)];
	uint8_t now = atomic_load_explicit(count, memory_order_relaxed);

	while (now != SATURATED && now != 0 &&
	       !atomic_compare_exchange_weak_explicit(count, &now, (uint8_t)(now - 1),
						      memory_order_release, memory_order_relaxed))
		;
}

static uint64_t hash_mix(uint64_t h)
{
	h ^= h >> 30;
	h *= 0xbf58476d1ce4e5b9u;
	h ^= h >> 27;
	h *= 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

/* The near bucket, and the two far ones. */
struct buckets {
	size_t near, far[2];
};

static struct buckets choose_buckets(uintptr_t address)
{
	uint64_t h = hash_mix(address >> 4);

	return (struct buckets){ .near = hash_mix(address >> 9) % BUCKETS,
				 .far = { h % BUCKETS, (h >> 32) % BUCKETS } };
}

/* Own the slot if it holds ADDRESS. */
static bool slot_own(struct table *t, size_t bucket, size_t way, uintptr_t address)
{
	return atomic_compare_exchange_strong_explicit(&t->address[bucket][way], &address, BUSY,
						       memory_order_acquire, memory_order_relaxed);
}

static void slot_release(struct table *t, size_t bucket, size_t way, uintptr_t address)
{
	atomic_store_explicit(&t->address[bucket][way], address, memory_order_release);
}

static void entry_load(const struct entry *e, struct mem_allocation *out)
{
	out->size = atomic_load_explicit(&e->size, memory_order_relaxed);
	out->weight = atomic_load_explicit(&e->weight, memory_order_relaxed);
	out->birth = atomic_load_explicit(&e->birth, memory_order_relaxed);
	out->stack = atomic_load_explicit(&e->stack, memory_order_relaxed);
}

/* The stores of the members must not become visible before the store of the version; hence release
 * for each. */
static void entry_store(struct entry *e, const struct mem_allocation *in)
{
	atomic_fetch_add_explicit(&e->version, 1, memory_order_relaxed);
	atomic_store_explicit(&e->size, in->size, memory_order_release);
	atomic_store_explicit(&e->weight, in->weight, memory_order_release);
	atomic_store_explicit(&e->birth, in->birth, memory_order_release);
	atomic_store_explicit(&e->stack, in->stack, memory_order_release);
}

static bool bucket_remove(struct table *t, size_t bucket, uintptr_t address,
			  struct mem_allocation *out)
{
	for (size_t way = 0; way < WAYS; way++) {
		if (atomic_load_explicit(&t->address[bucket][way], memory_order_relaxed) !=
			    address ||
		    !slot_own(t, bucket, way, address))
			continue;
		entry_load(&t->entry[bucket][way], out);
		slot_release(t, bucket, way, FREE);
		filter_remove(address);
		return true;
	}
	return false;
}

bool mem_table_remove(const void *p, struct mem_allocation *out)
{
	struct table *t = table_get();
	struct buckets buckets;

	if (!t || !p)
		return false;
	buckets = choose_buckets((uintptr_t)p);
	return bucket_remove(t, buckets.near, (uintptr_t)p, out) ||
	       bucket_remove(t, buckets.far[0], (uintptr_t)p, out) ||
	       bucket_remove(t, buckets.far[1], (uintptr_t)p, out);
}

static size_t bucket_room(struct table *t, size_t bucket)
{
	size_t count = 0;

	for (size_t way = 0; way < WAYS; way++)
		count += atomic_load_explicit(&t->address[bucket][way], memory_order_relaxed) ==
			 FREE;
	return count;
}

static bool bucket_insert(struct table *t, size_t bucket, uintptr_t address,
			  const struct mem_allocation *allocation)
{
	for (size_t way = 0; way < WAYS; way++) {
		if (atomic_load_explicit(&t->address[bucket][way], memory_order_relaxed) != FREE ||
		    !slot_own(t, bucket, way, FREE))
			continue;
		entry_store(&t->entry[bucket][way], allocation);
		slot_release(t, bucket, way, address);
		return true;
	}
	return false;
}

/* Evict an entry. The search starts at a slot that depends on the new address, so that evictions
 * are spread. */
static bool bucket_evict(struct table *t, size_t bucket, uintptr_t address,
			 const struct mem_allocation *allocation, struct mem_allocation *evicted)
{
	uintptr_t old;
	size_t way;

	for (size_t i = 0; i < WAYS; i++) {
		way = (i + (size_t)(hash_mix(address >> 4) >> 24)) % WAYS;
		old = atomic_load_explicit(&t->address[bucket][way], memory_order_relaxed);
		if (old == FREE || old == BUSY || !slot_own(t, bucket, way, old))
			continue;
		entry_load(&t->entry[bucket][way], evicted);
		entry_store(&t->entry[bucket][way], allocation);
		slot_release(t, bucket, way, address);
		filter_remove(old);
		return true;
	}
	return false;
}

bool mem_table_insert(const void *p, const struct mem_allocation *allocation,
		      struct mem_allocation *evicted)
{
	struct table *t = table_get();
	uintptr_t address = (uintptr_t)p;
	struct buckets buckets;
	size_t first;

	*evicted = *allocation;
	if (!t)
		return true;
	/* Before the address can be found: a free of it can only happen after this allocation has
	 * returned. */
	mem_table_watch(p);
	buckets = choose_buckets(address);
	if (bucket_room(t, buckets.near) > WAYS / 2 &&
	    bucket_insert(t, buckets.near, address, allocation))
		return false;
	first = bucket_room(t, buckets.far[1]) > bucket_room(t, buckets.far[0]);
	if (bucket_insert(t, buckets.far[first], address, allocation) ||
	    bucket_insert(t, buckets.far[!first], address, allocation))
		return false;
	/* When every slot of the bucket is being changed at this moment, the new entry is not
	 * inserted. */
	if (!bucket_evict(t, buckets.far[first], address, allocation, evicted))
		filter_remove(address);
	return true;
}

void mem_table_each(void (*visit)(void *context, const struct mem_allocation *allocation),
		    void *context)
{
	struct table *t = table_get();
	struct mem_allocation copy;
	uintptr_t address;
	uint32_t version;

	for (size_t i = 0; t && i < MEM_TABLE_MAX; i++) {
		struct entry *e = &t->entry[i / WAYS][i % WAYS];
		_Atomic uintptr_t *slot = &t->address[i / WAYS][i % WAYS];

		address = atomic_load_explicit(slot, memory_order_acquire);
		if (address == FREE || address == BUSY)
			continue;
		version = atomic_load_explicit(&e->version, memory_order_relaxed);
		copy.size = atomic_load_explicit(&e->size, memory_order_acquire);
		copy.weight = atomic_load_explicit(&e->weight, memory_order_acquire);
		copy.birth = atomic_load_explicit(&e->birth, memory_order_acquire);
		copy.stack = atomic_load_explicit(&e->stack, memory_order_acquire);
		if (atomic_load_explicit(&e->version, memory_order_relaxed) == version &&
		    atomic_load_explicit(slot, memory_order_relaxed) == address)
			visit(context, &copy);
	}
}

void mem_table_clear(void)
{
	struct table *t = table_get();
	struct mem_allocation gone;
	uintptr_t address;

	for (size_t i = 0; t && i < MEM_TABLE_MAX; i++) {
		address =
			atomic_load_explicit(&t->address[i / WAYS][i % WAYS], memory_order_relaxed);
		if (address != FREE && address != BUSY)
			bucket_remove(t, i / WAYS, address, &gone);
	}
}
