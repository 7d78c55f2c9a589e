#include "image/reserve.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/kernel.h"
#include "core/system.h"

/* As a report takes, with the names of a large program. */
#define RESERVE_BYTES (8u << 20)
#define PAGE          ((size_t)ARCH_PAGE_MAX)

static struct {
	uintptr_t start; /* 0: there is none */
	/* How many mappings there are in the high half; in the low one where the next begins, which is at the start again
	 * as soon as there are none. */
	_Atomic uint64_t used;
} reserve;

void reserve_begin(struct image_area *area)
{
	struct rlimit limit;
	long start;

	if (system_limit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return;
	start = kernel_call6(SYS_mmap, 0, RESERVE_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start < 0 && start >= -4095)
		return;
	area->bytes = RESERVE_BYTES;
	atomic_store(&area->start, (uintptr_t)start);
	reserve.start = (uintptr_t)start;
}

bool reserve_has(const void *address)
{
	return reserve.start && (uintptr_t)address - reserve.start < RESERVE_BYTES;
}

static void one_less(void)
{
	uint64_t used = atomic_load(&reserve.used), less;

	do {
		less = used - ((uint64_t)1 << 32);
		if (!(less >> 32))
			less = 0;
	} while (!atomic_compare_exchange_weak(&reserve.used, &used, less));
}

long reserve_map(size_t length, int protection, int flags, int fd, off_t offset)
{
	uint64_t used = atomic_load(&reserve.used);
	size_t bytes = (length + PAGE - 1) & -PAGE;
	long result;

	do {
		if (!reserve.start || bytes < length || bytes > RESERVE_BYTES - (uint32_t)used)
			return -ENOMEM;
	} while (!atomic_compare_exchange_weak(&reserve.used, &used,
					       used + ((uint64_t)1 << 32) + bytes));
	result = kernel_call6(SYS_mmap, (long)(reserve.start + (uint32_t)used), (long)length,
			      protection, flags | MAP_FIXED, fd, (long)offset);
	if (result < 0 && result >= -4095)
		one_less();
	return result;
}

void reserve_unmap(void *address, size_t length)
{
	kernel_call6(SYS_mmap, (long)address, (long)length, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	one_less();
}
