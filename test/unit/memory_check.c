/* engine/reading/memory_check: compares many places with their expected bytes. */
#include "engine/reading/memory_check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

#define PLACES (3 * MEMORY_CHECK_PLACES + 1) /* four calls, the last for one place */

static uint8_t there[PLACES][MEMORY_CHECK_BYTES], expected[PLACES][MEMORY_CHECK_BYTES];

static bool all_hold(void)
{
	struct memory_check check = { .count = 0 };

	for (size_t i = 0; i < PLACES; i++)
		memory_check_add(&check, (uintptr_t)there[i], expected[i],
				 1 + i % MEMORY_CHECK_BYTES);
	return memory_check_end(&check);
}

START_TEST(each_counts)
{
	for (size_t i = 0; i < PLACES; i++) {
		memset(there[i], (int)i, sizeof(there[i]));
		memset(expected[i], (int)i, sizeof(expected[i]));
	}
	ck_assert(all_hold());
	for (size_t i = 0; i < PLACES; i++) {
		size_t last = i % MEMORY_CHECK_BYTES;

		there[i][last] ^= 1;
		ck_assert(!all_hold());
		there[i][last] ^= 1;
		if (last + 1 < MEMORY_CHECK_BYTES) { /* not compared */
			there[i][last + 1] ^= 1;
			ck_assert(all_hold());
		}
	}
}
END_TEST

START_TEST(gone)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct memory_check check = { .count = 0 };
	const uint8_t zero = 0;

	ck_assert_ptr_ne(memory, MAP_FAILED);
	memory_check_add(&check, (uintptr_t)&zero, &zero, 1);
	memory_check_add(&check, (uintptr_t)memory, &zero, 1);
	ck_assert(memory_check_end(&check));
	munmap(memory, page);
	memory_check_add(&check, (uintptr_t)&zero, &zero, 1);
	memory_check_add(&check, (uintptr_t)memory, &zero, 1);
	ck_assert(!memory_check_end(&check));
	/* A failed check stays failed. */
	memory_check_add(&check, (uintptr_t)&zero, &zero, 1);
	ck_assert(!memory_check_end(&check));
}
END_TEST

START_TEST(nothing_and_too_much)
{
	static const uint8_t much[MEMORY_CHECK_BYTES + 1];
	struct memory_check check = { .count = 0 };

	ck_assert(memory_check_end(&check));
	memory_check_add(&check, 0, NULL, 0);
	ck_assert(memory_check_end(&check));
	memory_check_add(&check, (uintptr_t)much, much, sizeof(much));
	ck_assert(!memory_check_end(&check));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, each_counts);
	tcase_add_test(tests, gone);
	tcase_add_test(tests, nothing_and_too_much);
	return suite_run(tests);
}
