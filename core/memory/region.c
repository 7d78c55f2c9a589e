/* Address region: one reserved range that all later mappings of the agent lie in. */
#include "core/memory/region.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/shared.h"
#include "core/system.h"

/* Bytes of one bit in the bitmap: the largest page size. */
#define UNIT       ((size_t)ARCH_PAGE_MAX)
#define WORD_UNITS ((size_t)64)
#define WORD_BYTES (WORD_UNITS * UNIT)
#define NONE       SIZE_MAX

#ifdef ASPROF_IMAGE
#define OWN_KIND REGION_HEAP
#else
#define OWN_KIND REGION_TABLES
#endif

struct region_word {
	_Atomic uint64_t used;
	_Atomic uint64_t kind[2]; /* low and high bit of their enum region_kind */
};

static struct region_word words[REGION_BYTES / WORD_BYTES];

static size_t region_units(void)
{
	return shared->region.bytes / UNIT;
}

static char *unit_address(size_t unit)
{
	return (char *)(shared->region.start + unit * UNIT);
}

static size_t unit_of(const void *address)
{
	return ((uintptr_t)address - shared->region.start) / UNIT;
}

static size_t units_for(size_t bytes)
{
	return bytes / UNIT + (bytes % UNIT != 0);
}

static bool is_error(long result)
{
	return result < 0 && result >= -4095;
}

/* ---- The bitmap ---- */

/* Return the bits of up to COUNT units from UNIT on in the first unit's word. *COUNT becomes their number. */
static uint64_t word_mask(size_t unit, size_t *count)
{
	size_t room = WORD_UNITS - unit % WORD_UNITS;

	if (*count >= room)
		*count = room;
	return (*count == WORD_UNITS ? UINT64_MAX : (UINT64_C(1) << *count) - 1)
	       << unit % WORD_UNITS;
}

static struct region_word *word_of(size_t unit)
{
	return &shared->region.words[unit / WORD_UNITS];
}

static void units_mark(size_t unit, size_t count, enum region_kind kind)
{
	for (size_t n = count; count; unit += n, n = count -= n) {
		uint64_t mask = word_mask(unit, &n);

		for (unsigned bit = 0; bit < 2; bit++)
			if (kind >> bit & 1)
				atomic_fetch_or(&word_of(unit)->kind[bit], mask);
			else
				atomic_fetch_and(&word_of(unit)->kind[bit], ~mask);
	}
}

static enum region_kind unit_kind(size_t unit)
{
	const struct region_word *word = word_of(unit);

	return (enum region_kind)((atomic_load(&word->kind[0]) >> unit % WORD_UNITS & 1) |
				  (atomic_load(&word->kind[1]) >> unit % WORD_UNITS & 1) << 1);
}

static void units_release(size_t unit, size_t count)
{
	for (size_t n = count; count; unit += n, n = count -= n) {
		uint64_t mask = word_mask(unit, &n);

		atomic_fetch_and(&word_of(unit)->used, ~mask);
	}
}

/* Mark units as used. False, with nothing changed, when one of them is in use. */
static bool units_claim(size_t first, size_t count)
{
	size_t unit = first;

	for (size_t n = count; count; unit += n, n = count -= n) {
		uint64_t mask = word_mask(unit, &n);
		uint64_t used = atomic_load(&word_of(unit)->used);

		do {
			if (used & mask) {
				units_release(first, unit - first);
				return false;
			}
		} while (!atomic_compare_exchange_weak(&word_of(unit)->used, &used, used | mask));
	}
	return true;
}

/* Find the run of equal units from *UNIT on. Returns its length; *UNIT becomes the first unit after it. */
static size_t units_next_run(size_t *unit, bool *is_used)
{
	size_t units = region_units(), first = *unit;

	while (*unit < units) {
		uint64_t used = atomic_load_explicit(&word_of(*unit)->used, memory_order_relaxed);
		size_t room = WORD_UNITS - *unit % WORD_UNITS, n;

		used >>= *unit % WORD_UNITS;
		if (*unit == first)
			*is_used = used & 1;
		else if (*is_used != (used & 1))
			break;
		if (*is_used)
			used = ~used;
		n = used ? (size_t)__builtin_ctzll(used) : WORD_UNITS;
		*unit += n < room ? n : room;
		if (n < room)
			break;
	}
	return *unit - first;
}

/* Find the first COUNT consecutive free units; NONE when there are none. */
static size_t units_find(size_t count)
{
	size_t units = region_units(), run;
	bool is_used = true;

	for (size_t unit = 0; unit < units;) {
		run = units_next_run(&unit, &is_used);
		if (!is_used && run >= count)
			return unit - run;
	}
	return NONE;
}

/* Each failed claim is another thread's success, so this ends. */
static size_t units_alloc(size_t count)
{
	size_t unit;

	do
		unit = units_find(count);
	while (unit != NONE && !units_claim(unit, count));
	return unit;
}

/* ---- The pages ---- */

static void pages_unlock(char *address, size_t bytes)
{
	kernel_call4(SYS_munlock, (long)address, (long)bytes, 0, 0);
}

/* For pages that mmap(2) cannot replace: after mlockall(MCL_FUTURE) it counts them twice for RLIMIT_MEMLOCK. Only
 * private anonymous memory can be discarded instead; MADV_FREE fails for other memory. */
static bool pages_discard(char *address, size_t bytes)
{
	pages_unlock(address, bytes);
	return !kernel_call4(SYS_madvise, (long)address, (long)bytes, MADV_FREE, 0) &&
	       !kernel_call4(SYS_madvise, (long)address, (long)bytes, MADV_DONTNEED, 0) &&
	       !kernel_call4(SYS_mprotect, (long)address, (long)bytes, PROT_NONE, 0);
}

/* Restore the initial state of pages. A new mapping frees overcommit accounting and the old advice. False when the
 * pages are unchanged: they stay in use. */
static bool pages_restore(char *address, size_t bytes)
{
	if (is_error(system_reserve(address, bytes, MAP_FIXED)))
		return pages_discard(address, bytes);
	if (atomic_load(&shared->region.is_locked))
		pages_unlock(address, bytes);
	return true;
}

/* Release units that were claimed, but are not mapped. */
static void units_forget(size_t unit, size_t count)
{
	units_mark(unit, count, REGION_TABLES);
	units_release(unit, count);
}

static void units_free(size_t unit, size_t count)
{
	if (pages_restore(unit_address(unit), count * UNIT))
		units_forget(unit, count);
}

/* Make reserved pages accessible. mprotect(2), unlike mmap(2), neither counts nor fills them under
 * mlockall(MCL_FUTURE). It applies to whole units, so that no unit is partly accessible. With transparent huge pages
 * one write would make 2 MiB resident. */
static long pages_open(char *address, size_t bytes, int protection)
{
	long err;

	if (protection == PROT_NONE)
		return 0;
	if (atomic_load(&shared->region.is_locked))
		pages_unlock(address, bytes);
	err = kernel_call4(SYS_mprotect, (long)address, (long)bytes, protection, 0);
	if (!err)
		kernel_call4(SYS_madvise, (long)address, (long)bytes, MADV_NOHUGEPAGE, 0);
	return err;
}

/* Reserve pages. False when something is mapped there. */
static bool pages_reserve_if_free(char *address, size_t bytes)
{
	long result = system_reserve(address, bytes, MAP_FIXED_NOREPLACE);

	if (is_error(result))
		return false;
	if (result != (long)address) /* before Linux 4.17 */
		kernel_call4(SYS_munmap, result, (long)bytes, 0, 0);
	return result == (long)address;
}

static long pages_map_file(char *address, size_t bytes, int protection, int flags, int fd,
			   off_t offset)
{
	long result = kernel_call6(SYS_mmap, (long)address, (long)bytes, protection,
				   flags | MAP_FIXED, fd, (long)offset);

	if (!is_error(result))
		return 0;
	/* An old kernel that cannot map the file has unmapped the pages before it fails. */
	pages_reserve_if_free(address, units_for(bytes) * UNIT);
	return result;
}

/* ---- Exported functions ---- */

int region_begin(size_t bytes)
{
	return region_begin_at(0, bytes);
}

int region_begin_at(uintptr_t address, size_t bytes)
{
	struct rlimit limit;
	long start;

	if (!system_limit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		bytes = region_bytes_under(bytes, limit.rlim_cur);
	bytes &= -WORD_BYTES;
	if (!bytes || bytes > REGION_BYTES)
		return -ENOMEM;
	start = system_reserve((void *)address, bytes, address ? MAP_FIXED : 0);
	if (is_error(start))
		return (int)start;
	shared->region.start = (uintptr_t)start;
	shared->region.bytes = bytes;
	shared->region.words = words;
	region_after_fork();
	return 0;
}

static void region_log_full(void)
{
	if (!atomic_exchange(&shared->region.was_full, true))
		log_warn_later(
			"the %d MiB of address space for the agent are full; samples are lost",
			(int)(shared->region.bytes >> 20));
}

long region_mmap(size_t bytes, int protection, int flags, int fd, off_t offset)
{
	size_t count = units_for(bytes), unit = bytes ? units_alloc(count) : NONE;
	char *address;
	long err;

	if (!bytes)
		return -EINVAL;
	if (unit == NONE) {
		region_log_full();
		return -ENOMEM;
	}
	if (OWN_KIND)
		units_mark(unit, count, OWN_KIND);
	address = unit_address(unit);
	if ((flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE))
		err = pages_open(address, count * UNIT, protection);
	else
		err = pages_map_file(address, bytes, protection, flags, fd, offset);
	if (err)
		units_forget(unit, count);
	return err ? err : (long)address;
}

bool region_resize(void *address, size_t bytes, size_t wanted)
{
	size_t unit = unit_of(address), count = units_for(bytes), more = units_for(wanted);

	if (more < count)
		units_free(unit + more, count - more);
	if (more <= count)
		return true;
	unit += count;
	more -= count;
	if (more > region_units() - unit || !units_claim(unit, more))
		return false;
	if (OWN_KIND)
		units_mark(unit, more, OWN_KIND);
	if (!pages_open(unit_address(unit), more * UNIT, PROT_READ | PROT_WRITE))
		return true;
	units_forget(unit, more);
	return false;
}

void region_unmap(void *address, size_t bytes)
{
	units_free(unit_of(address), units_for(bytes));
}

bool region_has(const void *address)
{
	return (uintptr_t)address - shared->region.start < shared->region.bytes;
}

size_t region_free_bytes(void)
{
	size_t units = region_units(), unit = 0, free = 0, run;
	bool is_used = true;

	while (unit < units) {
		run = units_next_run(&unit, &is_used);
		free += is_used ? 0 : run;
	}
	return free * UNIT;
}

bool region_has_room_for_stacks(size_t bytes)
{
	return !shared->region.start || region_free_bytes() >= shared->region.bytes / 4 + bytes;
}

void region_unmap_image(void)
{
	size_t units = region_units(), count = 0;

	for (size_t unit = 0; unit <= units; unit++) {
		if (unit < units && unit_kind(unit) == REGION_HEAP) {
			count++;
		} else if (count) {
			units_free(unit - count, count);
			count = 0;
		}
	}
}

void region_mark(const void *address, size_t bytes, enum region_kind kind)
{
	if (region_has(address))
		units_mark(unit_of(address), units_for(bytes), kind);
}

/* Bits of an entry of /proc/PID/pagemap: the page is in memory, or in swap. */
#define PAGE_IS_USED (UINT64_C(3) << 62)

/* Return the resident bytes of COUNT units. */
static size_t units_resident(size_t unit, size_t count, size_t page, int pagemap)
{
	size_t first = (size_t)unit_address(unit) / page, pages = count * UNIT / page, n;
	size_t resident = 0;
	uint64_t entries[128];

	for (; pages; first += n, pages -= n) {
		n = pages < 128 ? pages : 128;
		if (kernel_call4(SYS_pread64, pagemap, (long)entries, (long)(n * sizeof(*entries)),
				 (long)(first * sizeof(*entries))) != (long)(n * sizeof(*entries)))
			return resident + pages * page;
		for (size_t i = 0; i < n; i++)
			resident += entries[i] & PAGE_IS_USED ? page : 0;
	}
	return resident;
}

void region_measure(size_t page, int pagemap, unsigned kinds, uint64_t bytes[REGION_KINDS])
{
	size_t units = region_units(), unit = 0, end, first;
	enum region_kind kind;
	bool is_used = true;

	for (int i = 0; i < REGION_KINDS; i++)
		bytes[i] = 0;
	while (page && unit < units) {
		first = unit;
		units_next_run(&unit, &is_used);
		for (end = first; is_used && first < unit; first = end) {
			kind = unit_kind(first);
			while (end < unit && unit_kind(end) == kind)
				end++;
			if (kinds >> kind & 1)
				bytes[kind] += units_resident(first, end - first, page, pagemap);
		}
	}
}

size_t region_cut(size_t keep)
{
	size_t units = region_units(), unit = 0, run = 0;
	bool is_used = true;

	while (unit < units)
		run = units_next_run(&unit, &is_used);
	if (is_used || units <= units_for(keep))
		return 0;
	if (run > units - units_for(keep))
		run = units - units_for(keep);
	if (!units_claim(units - run, run))
		return 0;
	kernel_call4(SYS_munmap, (long)unit_address(units - run), (long)(run * UNIT), 0, 0);
	return run * UNIT;
}

void region_restore(size_t bytes)
{
	size_t unit = region_units() - bytes / UNIT;

	if (bytes && pages_reserve_if_free(unit_address(unit), bytes))
		units_release(unit, bytes / UNIT);
}

void region_limit(size_t address_space)
{
	size_t kept = shared->region.bytes -
		      region_cut(region_bytes_under(shared->region.bytes, address_space));

	/* The program may get those addresses. */
	shared->region.bytes = (kept + WORD_BYTES - 1) & -WORD_BYTES;
}

bool region_is_here(void)
{
	return shared->region.process == system_process();
}

void region_after_fork(void)
{
	shared->region.process = system_process();
}

void region_unlock(void)
{
	size_t units = region_units(), unit = 0, run;
	bool is_used = true;

	if (!units)
		return;
	atomic_store(&shared->region.is_locked, true);
	while (unit < units) {
		run = units_next_run(&unit, &is_used);
		if (!is_used)
			pages_unlock(unit_address(unit - run), run * UNIT);
	}
}

/* The thread sanitizer does not see these system calls. The kernel orders an unmapping before the next mapping of
 * the range. Without that order, the first writes to a mapping look like a race with the last writes to the previous
 * one. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED
#endif
#endif
#ifdef THREAD_SANITIZED
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define AFTER_MAP()    __tsan_acquire(words)
#define BEFORE_UNMAP() __tsan_release(words)
#else
#define AFTER_MAP()    ((void)0)
#define BEFORE_UNMAP() ((void)0)
#endif

/* core/system.h. In the constructor, and where nothing is reserved, the kernel chooses the address. */
void *system_map(size_t bytes)
{
	long result;

	if (shared->region.start)
		result = region_mmap(bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	else
		result = kernel_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	AFTER_MAP();
	return is_error(result) ? NULL : (void *)result;
}

void system_unmap(void *memory, size_t bytes)
{
	BEFORE_UNMAP();
	if (region_has(memory))
		region_unmap(memory, bytes);
	else
		kernel_call4(SYS_munmap, (long)memory, (long)bytes, 0, 0);
}
