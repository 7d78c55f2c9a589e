/* core/memory/account.c: uses of memory are refused in their order, and each refusal is counted. */
#include "core/memory/account.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/memory/region.h"
#include "core/shared.h"
#include "core/system.h"
#include "test/fixtures/suite.h"

#define LIMIT ((uint64_t)8 << 20)
#define MIB   ((int64_t)1 << 20)
#define WORK  (LIMIT + MEMORY_RESERVE_BYTES)

static void set_up(void)
{
	ck_assert_int_eq(region_begin((size_t)32 << 20), 0);
	memory_account_open(LIMIT, (size_t)sysconf(_SC_PAGESIZE));
}

START_TEST(refuses_in_the_order_of_uses)
{
	for (int mib = 0; mib < 17; mib++) {
		atomic_store(&shared->agent.memory_bytes, mib * MIB);
		ck_assert_int_eq(memory_is_granted(MEMORY_CACHE, 1), mib < 4);
		ck_assert_int_eq(memory_is_granted(MEMORY_CAPTURE, 1), mib < 6);
		ck_assert_int_eq(memory_is_granted(MEMORY_STACK, 1), mib < 7);
		ck_assert_int_eq(memory_is_granted(MEMORY_WORK, 1), mib < 16);
	}
	ck_assert_uint_eq(memory_refusals(), 11 + 10 + 1);
}
END_TEST

START_TEST(everything_counts_together)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *tables = system_map((size_t)4 * MIB);

	ck_assert_ptr_nonnull(tables);
	memory_measure();
	ck_assert_uint_eq(memory_room(MEMORY_WORK), WORK);
	memset(tables, 1, 3 * page);
	memory_measure();
	ck_assert_uint_eq(memory_room(MEMORY_WORK), WORK - 3 * page);
	memory_add_capture(MIB);
	atomic_store(&shared->agent.memory_bytes, 2 * MIB);
	ck_assert_uint_eq(memory_room(MEMORY_WORK), WORK - 3 * page - 3 * MIB);
	memory_add_capture(-MIB);
	ck_assert_uint_eq(memory_room(MEMORY_WORK), WORK - 3 * page - 2 * MIB);
	/* A use beyond the limit leaves no room. */
	atomic_store(&shared->agent.memory_bytes, 100 * MIB);
	ck_assert_uint_eq(memory_room(MEMORY_WORK), 0);
}
END_TEST

START_TEST(signal_stacks_and_the_engine_do_not_count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *stacks = system_map((size_t)MIB), *engine = system_map((size_t)MIB);
	struct memory_account account;
	uint64_t bytes[REGION_KINDS];

	region_mark(stacks, (size_t)MIB, REGION_STACKS);
	region_mark(engine, (size_t)MIB, REGION_ENGINE);
	memset(stacks, 1, 2 * page);
	memset(engine, 1, 5 * page);
	memory_account_read(&account);
	ck_assert_uint_eq(account.signal_stacks, 2 * page);
	ck_assert_uint_eq(account.engine, 5 * page);
	ck_assert_uint_eq(account.tables, 0);
	ck_assert_uint_eq(account.limit, LIMIT);
	ck_assert_uint_eq(memory_room(MEMORY_WORK), WORK);
	/* Without a pagemap, mapped bytes count. */
	region_measure(page, -1, 1u << REGION_STACKS, bytes);
	ck_assert_uint_eq(bytes[REGION_STACKS], MIB);
	ck_assert_uint_eq(bytes[REGION_ENGINE], 0);
	/* Freed units lose their kind. */
	system_unmap(stacks, (size_t)MIB);
	stacks = system_map((size_t)MIB);
	memset(stacks, 1, page);
	memory_account_read(&account);
	ck_assert_uint_eq(account.signal_stacks, 0);
	ck_assert_uint_eq(account.tables, page);
}
END_TEST

static uint64_t one_mib(void)
{
	return (uint64_t)MIB;
}

/* A process that has changed its user may not read its own pagemap. */
START_TEST(unused_bytes_do_not_count_without_a_pagemap)
{
	struct memory_account account;
	uint64_t readable;

	ck_assert_ptr_nonnull(system_map((size_t)(3 * MIB)));
	memory_set_unused(one_mib);
	memory_account_read(&account);
	readable = account.tables;
	ck_assert_uint_eq(readable, 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	if (!geteuid())
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	memory_account_read(&account);
	ck_assert_uint_eq(account.tables, 2 * MIB);
}
END_TEST

START_TEST(entries_use_a_page_each)
{
	memory_account_open(0, 4096);
	ck_assert_uint_eq(memory_of_entries(0, 10 * 4096), 0);
	ck_assert_uint_eq(memory_of_entries(3, 10 * 4096), 3 * 4096);
	ck_assert_uint_eq(memory_of_entries(UINT32_MAX, 10 * 4096), 10 * 4096);
}
END_TEST

START_TEST(a_share_is_at_most_the_bytes)
{
	ck_assert_uint_eq(memory_eighths(1, 2 * MIB), MIB);
	ck_assert_uint_eq(memory_eighths(3, 2 * MIB), 2 * MIB);
	memory_account_open(0, 4096);
	ck_assert_uint_eq(memory_eighths(1, 2 * MIB), 2 * MIB);
}
END_TEST

START_TEST(off)
{
	memory_account_open(0, (size_t)sysconf(_SC_PAGESIZE));
	atomic_store(&shared->agent.memory_bytes, INT64_MAX / 2);
	ck_assert(memory_is_granted(MEMORY_CACHE, UINT64_MAX));
	ck_assert_uint_eq(memory_refusals(), 0);
}
END_TEST

/* A child has the tables, but neither the parent's heap nor its captures. */
START_TEST(in_a_forked_child)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *tables = system_map((size_t)MIB);
	int status = -1;
	pid_t child;

	memset(tables, 1, 4 * page);
	memory_add_capture(6 * MIB);
	atomic_store(&shared->agent.memory_bytes, 16 * MIB);
	ck_assert(!memory_is_granted(MEMORY_WORK, 1));
	child = fork();
	if (!child) {
		region_after_fork();
		agent_forget();
		memory_account_open(LIMIT, page);
		_exit(memory_room(MEMORY_WORK) == WORK - 4 * page && !memory_refusals() ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("account");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, refuses_in_the_order_of_uses);
	tcase_add_test(tests, everything_counts_together);
	tcase_add_test(tests, signal_stacks_and_the_engine_do_not_count);
	tcase_add_test(tests, unused_bytes_do_not_count_without_a_pagemap);
	tcase_add_test(tests, entries_use_a_page_each);
	tcase_add_test(tests, a_share_is_at_most_the_bytes);
	tcase_add_test(tests, off);
	tcase_add_test(tests, in_a_forked_child);
	return suite_run(tests);
}
