/* Load range: addresses for what the dynamic linker and the C library map when async-profiler is loaded. */
#include "asyncprof/load_range.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "arch/arch.h"
#include "core/agent/async_profiler.h"
#include "core/memory/region.h"
#include "core/system.h"

/* glibc maps twice 64 MiB for the first malloc() in a thread. The library and its dependencies take 4 MiB. */
#define RANGE_BYTES ((size_t)160 << 20)

/* Free ranges above it are reserved in pieces of decreasing size. */
#define PIECE_BYTES ((size_t)16 << 20)
#define PIECES_MAX  64

enum state { NONE, RESERVED, OPEN };

static struct {
	_Atomic int state;
	uintptr_t start;
	struct {
		uintptr_t start;
		size_t bytes;
	} pieces[PIECES_MAX];
	size_t piece_count;
} range;

/* Returns 0 on failure. */
static uintptr_t range_reserve(size_t bytes)
{
	long address = system_reserve(NULL, bytes, 0);

	return address < 0 && address >= -4095 ? 0 : (uintptr_t)address;
}

static void range_unmap(uintptr_t start, size_t bytes)
{
	kernel_call4(SYS_munmap, (long)start, (long)bytes, 0, 0);
}

/* True if the kernel chooses the highest free range: a second range of this size is not above the first. */
static bool range_is_highest(void)
{
	uintptr_t second = range_reserve(RANGE_BYTES);

	if (second)
		range_unmap(second, RANGE_BYTES);
	return second && second < range.start;
}

static void range_reserve_above(void)
{
	for (size_t bytes = PIECE_BYTES; bytes >= ARCH_PAGE_MAX; bytes /= 2)
		while (range.piece_count < PIECES_MAX) {
			uintptr_t start = range_reserve(bytes);

			if (start < range.start) {
				if (start)
					range_unmap(start, bytes);
				break;
			}
			range.pieces[range.piece_count].start = start;
			range.pieces[range.piece_count++].bytes = bytes;
		}
}

void async_profiler_reserve_addresses(void)
{
	struct rlimit limit;

	if (system_limit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY)
		return;
	range.start = range_reserve(RANGE_BYTES);
	if (!range.start)
		return;
	if (!range_is_highest()) {
		range_unmap(range.start, RANGE_BYTES);
		return;
	}
	range_reserve_above();
	atomic_store(&range.state, RESERVED);
}

static bool range_change_state(int from, int to)
{
	return atomic_compare_exchange_strong(&range.state, &from, to);
}

static void range_free_above(void)
{
	for (size_t i = 0; i < range.piece_count; i++)
		range_unmap(range.pieces[i].start, range.pieces[i].bytes);
}

void load_range_free(void)
{
	if (range_change_state(RESERVED, OPEN))
		range_unmap(range.start, RANGE_BYTES);
}

void load_range_free_above(void)
{
	if (range_change_state(OPEN, NONE))
		range_free_above();
}

void async_profiler_release_addresses(void)
{
	/* (Not in a child of vfork(2), which has its parent's address space.) */
	if (!region_is_here() || !range_change_state(RESERVED, NONE))
		return;
	range_unmap(range.start, RANGE_BYTES);
	range_free_above();
}
