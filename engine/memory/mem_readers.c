/* Who is inside: any number of threads for a moment each, or the collector alone.
 *
 * Threads spread over several doors, so that they do not all write to one cache line. Entering and
 * closing are each a store and then a load of what the other stores: one of the two sees the
 * other. */
#include "engine/memory/mem_readers.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/system.h"

#define DOOR_BITS 3
#define DOORS     (1u << DOOR_BITS)

/* Each of those inside stays for some microseconds, unless it was preempted there. */
#define LOOKS_MAX 1000

static struct {
	_Alignas(64) _Atomic uint32_t inside;
} doors[DOORS];

static _Atomic bool closed;

/* The calling thread's: told by where its variables lie. */
static _Atomic uint32_t *own_door(void)
{
	static __thread char mine;
	uint64_t hash = (uint64_t)(uintptr_t)&mine * 0x9e3779b97f4a7c15u;

	return &doors[hash >> (64 - DOOR_BITS)].inside;
}

bool mem_doors_enter(void)
{
	atomic_fetch_add(own_door(), 1);
	if (!atomic_load(&closed))
		return true;
	mem_doors_leave();
	return false;
}

void mem_doors_leave(void)
{
	atomic_fetch_sub(own_door(), 1);
}

static bool somebody_inside(void)
{
	for (size_t i = 0; i < DOORS; i++)
		if (atomic_load(&doors[i].inside))
			return true;
	return false;
}

bool mem_doors_close(void)
{
	atomic_store(&closed, true);
	for (int i = 0; i < LOOKS_MAX; i++) {
		if (!somebody_inside())
			return true;
		system_yield();
	}
	mem_doors_open();
	return false;
}

void mem_doors_open(void)
{
	atomic_store(&closed, false);
}

void mem_doors_fork_child(void)
{
	for (size_t i = 0; i < DOORS; i++)
		atomic_store(&doors[i].inside, 0);
	mem_doors_open();
}
