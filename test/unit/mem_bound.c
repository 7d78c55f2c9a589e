/* engine/memory/mem.c: a day's allocations, from more stacks and with more of them alive than the
 * tables have space for, stay within the documented memory. MEM_SAMPLES=170000000 is a day of a
 * gigabyte a second at 512k; collected as at the end of each half minute's chunk. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/memory/mem.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define CALLER         ((const void *)0x401000)
#define CHUNK_SAMPLES  60000
#define ALIVE          100000 /* three times what the table holds */
#define STACKS         200000
#define DEPTH          12
#define PROMISED_BYTES (4u << 20)
/* More than the tables hold. (The thread sanitizer only runs the code; the bound is for others, see
 * below.) */
#define SAMPLES (THREAD_SANITIZED ? 250000 : 500000)

static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

static uintptr_t *borrow(void)
{
	static uintptr_t pcs[MEM_STACK_DEPTH_MAX];

	return pcs;
}

static void give_back(uintptr_t *pcs)
{
	(void)pcs;
}

/* Of a program whose callers have four callers each. */
static size_t unwind(uintptr_t *pcs, size_t max, bool *truncated)
{
	uint32_t path = any(STACKS);

	(void)max;
	pcs[0] = (uintptr_t)CALLER;
	for (size_t i = 1; i < DEPTH; i++, path /= 4)
		pcs[i] = 0x402000 + (uintptr_t)path * 16;
	*truncated = false;
	return DEPTH;
}

static void allocated(const void *p, uint64_t ticks, const struct mem_allocation *allocation,
		      const uintptr_t *pcs, size_t depth, bool truncated)
{
	(void)p;
	(void)ticks;
	(void)allocation;
	(void)pcs;
	(void)depth;
	(void)truncated;
}

static void freed(const void *p, uint64_t ticks, const struct mem_allocation *allocation)
{
	(void)p;
	(void)ticks;
	(void)allocation;
}

static void refused(size_t size, const uintptr_t *pcs, size_t depth)
{
	(void)size;
	(void)pcs;
	(void)depth;
}

static void grown(void)
{
}

static const struct mem_port port = {
	.borrow = borrow,
	.give_back = give_back,
	.unwind = unwind,
	.allocated = allocated,
	.freed = freed,
	.refused = refused,
	.grown = grown,
};

/* Resident memory of this process. */
static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t size = 0, resident = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%zu %zu", &size, &resident), 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void ignore(void *context, const struct mem_retained *retained)
{
	(void)context;
	(void)retained;
}

/* As in the interposers, with an allocator that returns P. */
static void replace(const void *old, void *p, size_t size)
{
	bool sampled;

	if (mem_table_watches(old))
		mem_on_free(old);
	if (mem_sample_passes(size))
		return;
	ck_assert(mem_on_alloc_begin(size, CALLER, &sampled));
	mem_on_alloc_end(p, size, CALLER, sampled);
}

START_TEST(a_day)
{
	const char *wanted = getenv("MEM_SAMPLES");
	unsigned long samples = wanted ? strtoul(wanted, NULL, 10) : SAMPLES;
	const struct mem_config config = { .interval = 0, .growth_permil = 100, .port = &port };
	const size_t before = resident_bytes();
	struct mem_summary summary = { 0 };
	size_t most = 0, now;

	ck_assert_int_eq(mem_start(&config), 0);
	for (unsigned long i = 0; i < samples; i++) {
		uintptr_t address = 0x7f0000000010 + (uintptr_t)any(ALIVE) * 1040;

		replace((void *)address, (void *)address, 16 + any(1024));
		if (i % CHUNK_SAMPLES)
			continue;
		mem_collect(ignore, NULL, &summary);
		now = resident_bytes() - before;
		most = now > most ? now : most;
	}
	mem_collect(ignore, NULL, &summary);
	/* It was more than fits. */
	ck_assert_uint_gt(summary.evicted, 0);
	ck_assert_uint_gt(summary.lost_stacks, 0);
	ck_assert_uint_gt(most, 1u << 20);
	printf("%lu samples: %zu kB resident at most, %llu pushed out\n", samples, most >> 10,
	       (unsigned long long)summary.evicted);
	if (!ADDRESS_SANITIZED && !THREAD_SANITIZED) /* they need extra memory for each block */
		ck_assert_uint_le(most, PROMISED_BYTES);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem_bound");

	tcase_set_timeout(tcase, 3600);
	tcase_add_test(tcase, a_day);
	return suite_run(tcase);
}
