/* engine/reading/memory_copies: mapped memory is read, once per walk; the next walk reads it in one
 * call. Memory that is not mapped, or is unmapped at that moment, causes no fault. */
#include "engine/reading/memory_copies.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "test/fixtures/suite.h"
#include "test/programs/filter.h"

#define PATTERN(i) ((uint8_t)((i)*7 + (i) / 256))

static struct memory_copies copies;
static uintptr_t who;

/* COUNT pages with a pattern, between unmapped pages. */
static uint8_t *lone_pages(size_t count)
{
	uint8_t *low = mmap(NULL, (count + 2) * MEMORY_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	uint8_t *pages = low + MEMORY_PAGE;

	ck_assert_ptr_ne(low, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages, count * MEMORY_PAGE, PROT_READ | PROT_WRITE), 0);
	for (size_t i = 0; i < count * MEMORY_PAGE; i++)
		pages[i] = PATTERN(i);
	return pages;
}

static void setup(void)
{
	memset(&copies, 0xee, sizeof(copies)); /* nothing need be cleared before */
	who += 64;
	memory_copies_begin(&copies, who);
}

static void again(void)
{
	memory_copies_end(&copies, who);
	memory_copies_begin(&copies, who);
}

static void check(const uint8_t *at, size_t size)
{
	uint8_t bytes[2 * MEMORY_PAGE] = { 0 };

	ck_assert(memory_copies_read(&copies, bytes, (uintptr_t)at, size));
	ck_assert_mem_eq(bytes, at, size);
}

static void check_edges(void)
{
	uint8_t *pages = lone_pages(2), byte[8];
	uintptr_t end = (uintptr_t)pages + 2 * MEMORY_PAGE;

	for (size_t size = 1; size <= 9; size++)
		for (size_t from = 0; from + size <= 2 * MEMORY_PAGE;
		     from += from % 1024 < 16 ? 1 : 61)
			check(pages + from, size);
	check(pages, 2 * MEMORY_PAGE);
	check(pages, 0);
	ck_assert(!memory_copies_read(&copies, byte, (uintptr_t)pages - 1, 8));
	ck_assert(!memory_copies_read(&copies, byte, end, 1));
	ck_assert(!memory_copies_read(&copies, byte, end - 4, 8));
}

START_TEST(edges)
{
	check_edges();
	/* Also with all pages prefetched. */
	again();
	check_edges();
}
END_TEST

/* As in a thread in a sandbox. */
START_TEST(edges_without_the_call)
{
	struct sock_filter filter[] = {
		LOAD_NUMBER,
		ON_CALL(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM),
		OTHERWISE(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return; /* emulators have no filters */
	check_edges();
	again();
	check_edges();
}
END_TEST

START_TEST(no_memory)
{
	static const uintptr_t nowhere[] = { 0,
					     1,
					     MEMORY_PAGE - 1,
					     MEMORY_PAGE,
					     UINTPTR_MAX,
					     UINTPTR_MAX - 7,
					     (uintptr_t)1 << 63,
					     (uintptr_t)1 << ARCH_ADDRESS_BITS,
					     ((uintptr_t)1 << ARCH_ADDRESS_BITS) - 1 };
	uintptr_t word;

	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		ck_assert(!memory_copies_read(&copies, &word, nowhere[i], sizeof(word)));
}
END_TEST

START_TEST(each_part_once)
{
	uint8_t *page = lone_pages(1), byte;

	check(page + 5, 100);
	check(page + 50, 100);
	ck_assert_uint_eq(copies.calls, 1);
	page[60]++; /* as before */
	ck_assert(memory_copies_read(&copies, &byte, (uintptr_t)page + 60, 1));
	ck_assert_uint_eq(byte, PATTERN(60));
	/* The second read of a page gets all of it. */
	check(page + 2 * MEMORY_COPIES_PART, 1);
	check(page + 3 * MEMORY_COPIES_PART, 1);
	ck_assert_uint_eq(copies.calls, 2);
}
END_TEST

START_TEST(next_walk_in_one_call)
{
	uint8_t *pages = lone_pages(20);

	for (int walk = 0; walk < 3; walk++) {
		for (size_t i = 0; i < 20; i += 2) {
			pages[i * MEMORY_PAGE + 1500] = (uint8_t)walk; /* the current value */
			check(pages + i * MEMORY_PAGE + 1400, 1000);
		}
		ck_assert_uint_eq(copies.calls, walk ? 0u : 10u);
		memory_copies_end(&copies, who);
		for (size_t i = 0; i < 20; i += 2)
			pages[i * MEMORY_PAGE + 1500] = (uint8_t)(walk + 1);
		memory_copies_begin(&copies, who);
	}
	/* Pages that are not read any more are not prefetched any more. */
	check(pages + 1400, 100);
	again();
	check(pages + 2 * MEMORY_PAGE + 1400, 100);
	ck_assert_uint_eq(copies.calls, 1);
	/* Pages of another thread are not prefetched either. */
	memory_copies_end(&copies, who);
	memory_copies_begin(&copies, 0);
	check(pages + 2 * MEMORY_PAGE + 1400, 100);
	ck_assert_uint_eq(copies.calls, 1);
}
END_TEST

START_TEST(a_guess_that_is_gone)
{
	uint8_t *pages = lone_pages(5), byte;

	for (size_t i = 0; i < 5; i++)
		check(pages + i * MEMORY_PAGE, 10);
	memory_copies_end(&copies, who);
	ck_assert_int_eq(munmap(pages + 2 * MEMORY_PAGE, MEMORY_PAGE), 0);
	memory_copies_begin(&copies, who);
	for (size_t i = 0; i < 5; i++)
		if (i != 2)
			check(pages + i * MEMORY_PAGE, 10);
	ck_assert(!memory_copies_read(&copies, &byte, (uintptr_t)pages + 2 * MEMORY_PAGE, 1));
}
END_TEST

START_TEST(more_than_is_held)
{
	const size_t count = 3 * MEMORY_COPIES_PAGES + 5;
	uint8_t *pages = lone_pages(count);

	for (int walk = 0; walk < 2; walk++, again())
		for (int round = 0; round < 2; round++)
			for (size_t i = 0; i < count; i++)
				check(pages + i * MEMORY_PAGE + i, 1500);
}
END_TEST

START_TEST(calls_are_bounded)
{
	uint8_t *pages = lone_pages(MEMORY_COPIES_PAGES + 1), byte;
	size_t reads = 0;

	while (memory_copies_read(
		&copies, &byte, (uintptr_t)pages + reads % (MEMORY_COPIES_PAGES + 1) * MEMORY_PAGE,
		1))
		reads++;
	ck_assert_uint_eq(reads, MEMORY_COPIES_MAX);
}
END_TEST

static atomic_bool done;

static void *come_and_go(void *page)
{
	while (!atomic_load(&done)) {
		if (mprotect(page, MEMORY_PAGE, PROT_NONE) ||
		    mprotect(page, MEMORY_PAGE, PROT_READ))
			abort();
	}
	return NULL;
}

START_TEST(goes_at_any_moment)
{
	uint8_t *page = lone_pages(1), bytes[64];
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, page), 0);
	for (int i = 0; i < 5000; i++, again())
		if (memory_copies_read(&copies, bytes, (uintptr_t)page + 100, sizeof(bytes)))
			ck_assert_uint_eq(bytes[7], PATTERN(107));
	atomic_store(&done, true);
	pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("memory_copies");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, edges);
	tcase_add_test(tcase, edges_without_the_call);
	tcase_add_test(tcase, no_memory);
	tcase_add_test(tcase, each_part_once);
	if (!getenv("TEST_RUNNER")) /* an emulator does not have that call */
		tcase_add_test(tcase, next_walk_in_one_call);
	tcase_add_test(tcase, a_guess_that_is_gone);
	tcase_add_test(tcase, more_than_is_held);
	tcase_add_test(tcase, calls_are_bounded);
	if (!getenv("TEST_RUNNER")) /* an emulator does not support that either */
		tcase_add_test(tcase, goes_at_any_moment);
	return suite_run(tcase);
}
