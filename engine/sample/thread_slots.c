/* Table of thread slots. */
#include "engine/sample/thread_slots.h"

#include "core/clock.h"
#include "core/memory/index_stack.h"
#include "core/system.h"

#define BLOCK_SLOTS 256
#define BLOCKS_MAX  256
#define SLOTS_MAX   (BLOCK_SLOTS * BLOCKS_MAX)

static struct {
	_Atomic uint32_t used;   /* slots ever used: the length of the array; see slots_used() */
	struct index_stack free; /* by index + 1 */
	struct thread *_Atomic blocks[BLOCKS_MAX];
} thread_slots;

static struct thread *slot(uint32_t index)
{
	struct thread *block = atomic_load_explicit(&thread_slots.blocks[index / BLOCK_SLOTS],
						    memory_order_acquire);

	return block ? &block[index % BLOCK_SLOTS] : NULL;
}

/* A thread that finds the array full briefly raises the count by one too many. */
static uint32_t slots_used(void)
{
	uint32_t used = atomic_load(&thread_slots.used);

	return used < SLOTS_MAX ? used : SLOTS_MAX;
}

static _Atomic uint32_t *slot_next(uint32_t number)
{
	return &slot(number - 1)->next_free;
}

static struct thread *slot_pop(void)
{
	uint32_t number = index_stack_pop(&thread_slots.free, slot_next);

	return number ? slot(number - 1) : NULL;
}

/* Take a slot that was never used. */
static struct thread *slot_new(void)
{
	uint32_t index = atomic_fetch_add(&thread_slots.used, 1);
	struct thread *_Atomic *place;
	struct thread *block, *none = NULL;

	if (index >= SLOTS_MAX) {
		atomic_fetch_sub(&thread_slots.used, 1);
		return NULL;
	}
	place = &thread_slots.blocks[index / BLOCK_SLOTS];
	if (!atomic_load(place)) {
		block = system_map(BLOCK_SLOTS * sizeof(*block));
		if (!block)
			return NULL; /* the index is lost, which is harmless */
		system_empty_in_children(block, BLOCK_SLOTS * sizeof(*block));
		if (!atomic_compare_exchange_strong(place, &none, block))
			system_unmap(block, BLOCK_SLOTS * sizeof(*block));
	}
	slot(index)->index = index;
	return slot(index);
}

void thread_slots_after_fork(void)
{
	for (size_t i = 0; i < BLOCKS_MAX; i++) {
		struct thread *block = atomic_load(&thread_slots.blocks[i]);

		if (!block)
			break;
		atomic_store(&thread_slots.blocks[i], NULL);
		system_unmap(block, BLOCK_SLOTS * sizeof(*block));
	}
	atomic_store(&thread_slots.used, 0);
	thread_slots.free = (struct index_stack){ 0 };
}

struct thread *thread_slot_next(uint32_t *at)
{
	while (*at < slots_used()) {
		struct thread *t = slot((*at)++);

		if (t && atomic_load(&t->tid))
			return t;
	}
	return NULL;
}

struct thread *thread_slot_find(pid_t tid)
{
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));)
		if (atomic_load(&t->tid) == tid && !atomic_load(&t->ended))
			return t;
	return NULL;
}

/* The caller owns the slot alone until it is in use. */
struct thread *thread_slot_acquire(pid_t tid, bool found)
{
	struct thread *t = slot_pop();

	if (!t)
		t = slot_new();
	if (!t)
		return NULL;
	atomic_store_explicit(&t->ended, SLOT_LEFT, memory_order_relaxed);
	atomic_store_explicit(&t->is_known, false, memory_order_relaxed);
	t->found = found;
	t->stack_low = t->stack_high = t->entry = 0;
	t->end = (struct thread_end){ 0 };
	t->born_ticks = clock_ticks();
	thread_clock_init(&t->clock, tid, (uintptr_t)t);
	atomic_store_explicit(&t->local, NULL, memory_order_relaxed);
	thread_call_write(&t->call, &(struct thread_call){ 0 });
	atomic_store_explicit(&t->lock_word, 0, memory_order_relaxed);
	atomic_store_explicit(&t->sampled, false, memory_order_relaxed);
	atomic_store(&t->tid, tid); /* other threads see the slot from here on */
	atomic_store(&t->ended, SLOT_IN_USE);
	return t;
}

void thread_slot_release(struct thread *t)
{
	thread_clock_end(&t->clock);
	atomic_store(&t->ended, SLOT_LEFT);
	atomic_store(&t->tid, 0);
	index_stack_push(&thread_slots.free, slot_next, t->index + 1);
}

bool thread_slot_is_valid(uintptr_t address)
{
	uint32_t blocks = (slots_used() + BLOCK_SLOTS - 1) / BLOCK_SLOTS;

	for (uint32_t i = 0; i < blocks; i++) {
		uintptr_t first = (uintptr_t)atomic_load_explicit(&thread_slots.blocks[i],
								  memory_order_relaxed);

		if (first && address >= first &&
		    address < first + BLOCK_SLOTS * sizeof(struct thread))
			return (address - first) % sizeof(struct thread) == 0;
	}
	return false;
}

uint32_t thread_slot_count(void)
{
	uint32_t count = 0;

	for (uint32_t at = 0; thread_slot_next(&at);)
		count++;
	return count;
}
