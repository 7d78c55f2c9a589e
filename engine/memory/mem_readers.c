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
#define COUNTS    (1u << DOOR_BITS)

/* Each of those inside stays for some microseconds, unless it was preempted there. */
#define LOOKS_MAX 1000

static struct {
	_Alignas(64) _Atomic uint32_t inside;
} reader_counts[COUNTS];

static _Atomic bool closed;

/* The calling thread's: told by where its variables lie. */
static _Atomic uint32_t *own_count(void)
{
	static __thread char mine;
	uint64_t hash = (uint64_t)(uintptr_t)&mine * 0x9e3779b97f4a7c15u;

	return &reader_counts[hash >> (64 - DOOR_BITS)].inside;
}

bool mem_readers_enter(void)
{
	atomic_fetch_add(own_count(), 1);
	if (!atomic_load(&closed))
		return true;
	mem_readers_leave();
	return false;
}

void mem_readers_leave(void)
{
	atomic_fetch_sub(own_count(), 1);
}

static bool readers_remain(void)
{
	for (size_t i = 0; i < COUNTS; i++)
		if (atomic_load(&reader_counts[i].inside))
			return true;
	return false;
}

bool mem_readers_exclude(void)
{
	atomic_store(&closed, true);
	for (int i = 0; i < LOOKS_MAX; i++) {
		if (!readers_remain())
			return true;
		system_yield();
	}
	mem_readers_admit();
	return false;
}

void mem_readers_admit(void)
{
	atomic_store(&closed, false);
}

void mem_readers_fork_child(void)
{
	for (size_t i = 0; i < COUNTS; i++)
		atomic_store(&reader_counts[i].inside, 0);
	mem_readers_admit();
}
