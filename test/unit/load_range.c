/* asyncprof/load_range: mappings while async-profiler is loaded use no address that the program has
 * unmapped. */
#include "asyncprof/load_range.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/agent/async_profiler.h"
#include "core/memory/region.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define HOLES          16
#define RESERVED_BYTES ((size_t)160 << 20)

static struct {
	char *start;
	size_t bytes;
} holes[HOLES];

static char *map(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

static size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	ck_assert(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void set_up(void)
{
	region_after_fork();
}

/* As the program does, from the size of a page to 128 MiB. */
static void make_holes(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < HOLES; i++) {
		holes[i].bytes = page << i;
		holes[i].start = map(holes[i].bytes + page);
	}
	for (size_t i = 0; i < HOLES; i++)
		munmap(holes[i].start, holes[i].bytes);
}

static bool is_in_hole(const char *address)
{
	for (size_t i = 0; i < HOLES; i++)
		if ((uintptr_t)address - (uintptr_t)holes[i].start < holes[i].bytes)
			return true;
	return false;
}

START_TEST(what_is_mapped_meanwhile_is_in_no_hole)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	async_profiler_reserve_addresses();
	make_holes();
	load_range_free();
	/* malloc()'s arena for a new thread, a library, and a small mapping. */
	ck_assert(!is_in_hole(map((size_t)128 << 20)));
	ck_assert(!is_in_hole(map((size_t)2 << 20)));
	for (size_t i = 1; i < 64; i++)
		ck_assert(!is_in_hole(map(i * page)));
	load_range_free_above();
}
END_TEST

START_TEST(nothing_stays_reserved)
{
	size_t before = address_space();

	async_profiler_reserve_addresses();
	ck_assert_uint_ge(address_space(), before + RESERVED_BYTES);
	load_range_free();
	load_range_free_above();
	async_profiler_release_addresses();
	ck_assert_uint_lt(address_space(), before + (1 << 20));
}
END_TEST

START_TEST(a_program_that_limits_its_addresses_gets_all_back)
{
	size_t before = address_space();

	async_profiler_reserve_addresses();
	async_profiler_release_addresses();
	ck_assert_uint_lt(address_space(), before + (1 << 20));
	load_range_free();
	load_range_free_above();
}
END_TEST

START_TEST(a_child_of_vfork_leaves_its_parents_range)
{
	size_t before;
	pid_t child;

	async_profiler_reserve_addresses();
	before = address_space();
	child = vfork();
	if (!child) {
		async_profiler_release_addresses();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ck_assert_uint_ge(address_space(), before - (1 << 20));
}
END_TEST

START_TEST(nothing_is_reserved_under_a_limit)
{
	size_t before = address_space();
	struct rlimit limit = { (rlim_t)64 << 30, (rlim_t)64 << 30 };

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	async_profiler_reserve_addresses();
	ck_assert_uint_lt(address_space(), before + (1 << 20));
	load_range_free();
	load_range_free_above();
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("load range");
	struct rlimit stack;

	/* (A sanitizer chooses addresses itself. With an unlimited stack, the kernel chooses the lowest range.) */
	if (ADDRESS_SANITIZED || THREAD_SANITIZED || getrlimit(RLIMIT_STACK, &stack) ||
	    stack.rlim_cur == RLIM_INFINITY)
		return 0;
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, what_is_mapped_meanwhile_is_in_no_hole);
	tcase_add_test(tests, nothing_stays_reserved);
	tcase_add_test(tests, a_program_that_limits_its_addresses_gets_all_back);
	tcase_add_test(tests, a_child_of_vfork_leaves_its_parents_range);
	tcase_add_test(tests, nothing_is_reserved_under_a_limit);
	return suite_run(tests);
}
