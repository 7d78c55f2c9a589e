/* engine/memory/mem_table.c: each entry is removed once, by one thread. */
#include "engine/memory/mem_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "test/fixtures/suite.h"

#define THREADS 4

static const void *at(uintptr_t i)
{
	return (const void *)(0x7f0000000010u + i * 48);
}

static const struct mem_allocation some = { .size = 1, .weight = 2, .birth = 3, .stack = 4 };

START_TEST(nothing_before_open)
{
	struct mem_allocation a;

	ck_assert(!mem_table_watches(at(0)));
	ck_assert(!mem_table_remove(at(0), &a));
	ck_assert(mem_table_insert(at(0), &some, &a));
	mem_table_clear();
}
END_TEST

START_TEST(comes_out_once)
{
	struct mem_allocation a, b;

	ck_assert_int_eq(mem_table_open(), 0);
	ck_assert(!mem_table_insert(at(1), &some, &a));
	ck_assert(mem_table_watches(at(1)));
	ck_assert(!mem_table_remove(at(2), &b));
	ck_assert(mem_table_remove(at(1), &b));
	ck_assert_uint_eq(b.size, 1);
	ck_assert_uint_eq(b.weight, 2);
	ck_assert_uint_eq(b.birth, 3);
	ck_assert_uint_eq(b.stack, 4);
	ck_assert(!mem_table_remove(at(1), &b));
	ck_assert(!mem_table_watches(at(1)));
}
END_TEST

static void count(void *context, const struct mem_allocation *a)
{
	(void)a;
	++*(size_t *)context;
}

static size_t entries(void)
{
	size_t n = 0;

	mem_table_each(count, &n);
	return n;
}

START_TEST(pushes_out_and_tells)
{
	struct mem_allocation a, evicted;
	size_t pushed = 0, found = 0;
	const size_t n = 2 * MEM_TABLE_MAX;

	ck_assert_int_eq(mem_table_open(), 0);
	for (size_t i = 0; i < n; i++) {
		a = some;
		a.weight = i;
		pushed += mem_table_insert(at(i), &a, &evicted);
		/* Two thirds fit before any entry is evicted. */
		if (i == MEM_TABLE_MAX * 2 / 3)
			ck_assert_uint_eq(pushed, 0);
	}
	ck_assert_uint_eq(entries(), n - pushed);
	ck_assert_uint_ge(entries(), MEM_TABLE_MAX * 9 / 10);
	for (size_t i = 0; i < n; i++)
		if (mem_table_remove(at(i), &a)) {
			ck_assert_uint_eq(a.weight, i);
			found++;
		}
	ck_assert_uint_eq(found, n - pushed);
	ck_assert_uint_eq(entries(), 0);
}
END_TEST

START_TEST(is_left_without_a_trace)
{
	struct mem_allocation evicted;

	ck_assert_int_eq(mem_table_open(), 0);
	for (size_t i = 0; i < 10000; i++)
		mem_table_insert(at(i), &some, &evicted);
	mem_table_clear();
	ck_assert_uint_eq(entries(), 0);
	for (size_t i = 0; i < 10000; i++)
		ck_assert(!mem_table_watches(at(i)));
}
END_TEST

/* More addresses than a counter can count: it stays saturated. */
START_TEST(a_crowded_byte_never_forgets)
{
	const void *same = at(7);

	for (int i = 0; i < 1000; i++)
		mem_table_watch(same);
	ck_assert(mem_table_watches(same));
}
END_TEST

/* Threads exchange allocations; two at once try to free each. Of every entry that was not evicted,
 * exactly one thread gets it back, with its data. */
#define SLOTS  512
#define ROUNDS 200

static _Atomic uintptr_t board[SLOTS];
static _Atomic size_t put, taken, pushed_out, wrong;

static void *frees(void *unused)
{
	struct mem_allocation a;

	(void)unused;
	for (int round = 0; round < ROUNDS * 4; round++)
		for (size_t i = 0; i < SLOTS; i++) {
			uintptr_t p = atomic_load(&board[i]);

			if (p && mem_table_watches((void *)p) && mem_table_remove((void *)p, &a)) {
				taken++;
				wrong += a.birth != p;
			}
		}
	return NULL;
}

static void *allocates(void *which)
{
	struct mem_allocation a = some, evicted;
	uintptr_t next = 0x560000000000 + ((uintptr_t)which << 32);

	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = (uintptr_t)which; i < SLOTS; i += THREADS) {
			next += 16;
			a.birth = next;
			pushed_out += mem_table_insert((void *)next, &a, &evicted);
			put++;
			atomic_store(&board[i], next);
		}
	return NULL;
}

START_TEST(taken_once_under_races)
{
	pthread_t a[THREADS], f[THREADS];
	size_t left;

	ck_assert_int_eq(mem_table_open(), 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		ck_assert(!pthread_create(&a[i], NULL, allocates, (void *)i));
		ck_assert(!pthread_create(&f[i], NULL, frees, NULL));
	}
	for (int i = 0; i < THREADS; i++) {
		left = entries(); /* while all threads are running */
		ck_assert_uint_le(left, MEM_TABLE_MAX);
		pthread_join(a[i], NULL);
		pthread_join(f[i], NULL);
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(taken + entries() + pushed_out, put);
	mem_table_clear();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem_table");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, nothing_before_open);
	tcase_add_test(tcase, comes_out_once);
	tcase_add_test(tcase, pushes_out_and_tells);
	tcase_add_test(tcase, is_left_without_a_trace);
	tcase_add_test(tcase, a_crowded_byte_never_forgets);
	tcase_add_test(tcase, taken_once_under_races);
	return suite_run(tcase);
}
