/* Striped reader count; the collector excludes readers.
 *
 * Threads are distributed over several counters, so that they do not all write to one cache line. A
 * reader stores its count and then loads the exclusion flag; the collector stores the flag and then
 * loads the counts. So at least one of the two sees the other. */
#include "engine/memory/mem_readers.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/system.h"

#define COUNT_BITS 3
#define COUNTS     (1u << COUNT_BITS)

/* A reader stays for some microseconds, unless it is preempted. */
#define CHECKS_MAX 1000

static struct {
	_Alignas(64) _Atomic uint32_t readers;
} reader_counts[COUNTS];

static _Atomic bool excluded;

/* The calling thread's counter, selected by the address of a thread-local variable. */
static _Atomic uint32_t *own_count(void)
{
	static __thread char mine;
	uint64_t hash = (uint64_t)(uintptr_t)&mine * 0x9e3779b97f4a7c15u;

	return &reader_counts[hash >> (64 - COUNT_BITS)].readers;
}

bool mem_readers_enter(void)
{
	atomic_fetch_add(own_count(), 1);
	if (!atomic_load(&excluded))
		return true;
	mem_readers_leave();
	return false;
}

/* A handler of the program may fork in between: in the child the count is 0 already. */
void mem_readers_leave(void)
{
	_Atomic uint32_t *count = own_count();
	uint32_t readers = atomic_load(count);

	while (readers && !atomic_compare_exchange_weak(count, &readers, readers - 1))
		;
}

static bool readers_remain(void)
{
	for (size_t i = 0; i < COUNTS; i++)
		if (atomic_load(&reader_counts[i].readers))
			return true;
	return false;
}

bool mem_readers_exclude(void)
{
	atomic_store(&excluded, true);
	for (int i = 0; i < CHECKS_MAX; i++) {
		if (!readers_remain())
			return true;
		system_yield();
	}
	mem_readers_admit();
	return false;
}

void mem_readers_admit(void)
{
	atomic_store(&excluded, false);
}

void mem_readers_fork_child(void)
{
	for (size_t i = 0; i < COUNTS; i++)
		atomic_store(&reader_counts[i].readers, 0);
	mem_readers_admit();
}
