/* engine/memory/mem_stacks.c: stacks are returned unchanged, in bounded memory. */
#include "engine/memory/mem_stacks.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

#define THREADS 4

static uint32_t kept;

static void mark_kept(bool keep[MEM_STACKS_MAX])
{
	keep[kept] = true;
}

static void mark_none(bool keep[MEM_STACKS_MAX])
{
	(void)keep;
}

static void nothing(void)
{
}

static void open_and_enter(void)
{
	ck_assert(!mem_stacks_enter());
	ck_assert_int_eq(mem_stacks_open(), 0);
	ck_assert(mem_stacks_enter());
}

static void ck_assert_stack(uint32_t id, const uintptr_t *pcs, size_t depth, bool truncated)
{
	uintptr_t got[MEM_STACK_DEPTH_MAX];
	bool cut;

	ck_assert_uint_ne(id, 0);
	ck_assert_uint_eq(mem_stacks_get(id, got, MEM_STACK_DEPTH_MAX, &cut), depth);
	ck_assert_int_eq(memcmp(got, pcs, depth * sizeof(*pcs)), 0);
	ck_assert_int_eq(cut, truncated);
}

START_TEST(keeps_a_stack_once)
{
	const uintptr_t a[] = { 0x7fff00001111, 0x2222, 0x3333 }, b[] = { 0x4444, 0x2222, 0x3333 };
	uint32_t first, second, cut;

	open_and_enter();
	first = mem_stacks_add(a, 3, false);
	second = mem_stacks_add(b, 3, false);
	cut = mem_stacks_add(a, 3, true);
	ck_assert_uint_ne(first, second);
	ck_assert_uint_ne(first, cut);
	ck_assert_uint_eq(mem_stacks_add(a, 3, false), first);
	ck_assert_stack(first, a, 3, false);
	ck_assert_stack(second, b, 3, false);
	ck_assert_stack(cut, a, 3, true);
	ck_assert_stack(mem_stacks_add(a, 1, false), a, 1, false);
	ck_assert_uint_eq(mem_stacks_add(a, 0, false), 0);
}
END_TEST

START_TEST(counts_by_stack)
{
	const uintptr_t a[] = { 1000, 2000 };
	struct mem_totals t;
	uint32_t id;

	open_and_enter();
	id = mem_stacks_add(a, 2, false);
	mem_stacks_allocated(id, 16 * 5, 500);
	mem_stacks_allocated(id, 8, 50);
	mem_stacks_allocated(id, 8, 50);
	mem_stacks_freed(id, 32, 200);
	mem_stacks_totals(id, &t);
	ck_assert_uint_eq(t.allocated_count, 6);
	ck_assert_uint_eq(t.allocated_bytes, 600);
	ck_assert_uint_eq(t.freed_count, 2);
	ck_assert_uint_eq(t.freed_bytes, 200);
}
END_TEST

START_TEST(full_is_counted_and_tidied)
{
	uintptr_t pcs[8] = { 0 };
	const uintptr_t mine[] = { 0x1234, 0x5678, 0x9abc };
	struct mem_totals t;
	uint32_t id;

	open_and_enter();
	kept = mem_stacks_add(mine, 3, false);
	mem_stacks_allocated(kept, 16, 100);
	for (uintptr_t i = 0; i < 30000; i++) {
		for (size_t f = 0; f < 8; f++)
			pcs[f] = 0x100000 + i * 8 + f;
		id = mem_stacks_add(pcs, 8, false);
		mem_stacks_allocated(id, 16, 1);
	}
	ck_assert(mem_stacks_are_crowded());
	ck_assert_uint_gt(mem_stacks_lost(), 0);
	/* There is a reader. */
	ck_assert(!mem_stacks_remove_unmarked(mark_kept));
	mem_stacks_leave();
	ck_assert(mem_stacks_remove_unmarked(mark_kept));
	ck_assert(mem_stacks_enter());
	ck_assert(!mem_stacks_are_crowded());
	ck_assert_stack(kept, mine, 3, false);
	ck_assert_uint_eq(mem_stacks_add(mine, 3, false), kept);
	/* The totals of removed stacks are kept. */
	mem_stacks_totals(0, &t);
	ck_assert_uint_eq(t.allocated_bytes, 30000);
	mem_stacks_totals(kept, &t);
	ck_assert_uint_eq(t.allocated_bytes, 100);
	/* There is room again. */
	for (size_t f = 0; f < 8; f++)
		pcs[f] = 77 + f;
	ck_assert_stack(mem_stacks_add(pcs, 8, false), pcs, 8, false);
}
END_TEST

START_TEST(deep_stacks_are_cut)
{
	uintptr_t pcs[MEM_STACK_DEPTH_MAX + 5];
	uint32_t id;

	open_and_enter();
	for (size_t i = 0; i < MEM_STACK_DEPTH_MAX + 5; i++)
		pcs[i] = 100 + i;
	id = mem_stacks_add(pcs, MEM_STACK_DEPTH_MAX + 5, false);
	ck_assert_stack(id, pcs, MEM_STACK_DEPTH_MAX, true);
	kept = id;
	mem_stacks_leave();
	ck_assert(mem_stacks_remove_unmarked(mark_kept));
	ck_assert_stack(id, pcs, MEM_STACK_DEPTH_MAX, true);
}
END_TEST

START_TEST(clear_forgets_all)
{
	const uintptr_t a[] = { 1000, 2000 };
	struct mem_totals t;

	open_and_enter();
	mem_stacks_allocated(mem_stacks_add(a, 2, false), 16, 500);
	mem_stacks_leave();
	ck_assert(mem_stacks_clear(nothing));
	ck_assert_uint_eq(mem_stacks_end(), 1);
	mem_stacks_totals(0, &t);
	ck_assert_uint_eq(t.allocated_bytes, 0);
}
END_TEST

/* In a child, the parent's readers never leave. */
START_TEST(a_child_starts_afresh)
{
	open_and_enter();
	ck_assert(!mem_stacks_remove_unmarked(mark_none));
	mem_stacks_fork_child();
	ck_assert(mem_stacks_remove_unmarked(mark_none));
}
END_TEST

static _Atomic bool stop;
static _Atomic size_t wrong, refused, done;

static void *adds(void *seed)
{
	uintptr_t pcs[6], got[6];
	unsigned random = (unsigned)(uintptr_t)seed;
	uint32_t id;
	bool cut;

	while (!stop) {
		for (size_t f = 0; f < 6; f++)
			pcs[f] = 0x1000 + (f << 8) + (unsigned)rand_r(&random) % 5;
		if (!mem_stacks_enter()) {
			refused++;
			sched_yield(); /* there may be fewer processors than threads */
			continue;
		}
		id = mem_stacks_add(pcs, 6, false);
		if (id &&
		    (mem_stacks_get(id, got, 6, &cut) != 6 || memcmp(got, pcs, sizeof(pcs)) || cut))
			wrong++;
		mem_stacks_leave();
		done++;
	}
	return NULL;
}

START_TEST(tidied_while_in_use)
{
	pthread_t thread[THREADS];
	int tidied = 0;

	ck_assert_int_eq(mem_stacks_open(), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert(!pthread_create(&thread[i], NULL, adds, (void *)i));
	/* At least so often, and until everything has happened several times. */
	while (tidied < 20 || done < 20000)
		tidied += mem_stacks_remove_unmarked(mark_none);
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem_stacks");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, keeps_a_stack_once);
	tcase_add_test(tcase, counts_by_stack);
	tcase_add_test(tcase, full_is_counted_and_tidied);
	tcase_add_test(tcase, deep_stacks_are_cut);
	tcase_add_test(tcase, clear_forgets_all);
	tcase_add_test(tcase, a_child_starts_afresh);
	tcase_add_test(tcase, tidied_while_in_use);
	return suite_run(tcase);
}
