/* engine/sample/thread_slots.c: every thread has a slot of its own, until the table is full; a
 * concurrent iteration sees no other slots. */
#include "engine/sample/thread_slots.h"

#include <pthread.h>
#include <stdatomic.h>

#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define TAKERS 3
#define MANY   100000                        /* more than there are slots */
#define WALKS  (THREAD_SANITIZED ? 20 : 200) /* each takes it a hundred times as long */

static atomic_bool done;

/* Returns a slot that should not exist. */
static void *take_in_vain(void *unused)
{
	struct thread *t = NULL;

	(void)unused;
	while (!done && !t)
		t = thread_slot_acquire(1, true);
	return t;
}

/* Returns how many are in use; 0 if one has changed. */
static uint32_t walk(void)
{
	const struct thread *t;
	uint32_t seen = 0;

	for (uint32_t at = 0; (t = thread_slot_next(&at)); seen++)
		if (atomic_load(&t->tid) != (pid_t)seen + 1)
			return 0;
	return seen;
}

static uint32_t walk_any(void)
{
	uint32_t seen = 0;

	for (uint32_t at = 0; thread_slot_next(&at);)
		seen++;
	return seen;
}

START_TEST(there_may_be_none_left)
{
	pthread_t takers[TAKERS];
	uint32_t taken = 0;
	void *extra;

	while (taken < MANY && thread_slot_acquire((pid_t)taken + 1, true))
		taken++;
	ck_assert_uint_lt(taken, MANY);
	ck_assert_uint_eq(thread_slot_count(), taken);
	for (int i = 0; i < TAKERS; i++)
		ck_assert_int_eq(pthread_create(&takers[i], NULL, take_in_vain, NULL), 0);
	for (int i = 0; i < WALKS; i++)
		ck_assert_uint_eq(walk(), taken);
	done = true;
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(takers[i], &extra);
		ck_assert_ptr_null(extra);
	}
}
END_TEST

START_TEST(a_free_one_is_taken_again)
{
	struct thread *first = thread_slot_acquire(1, true), *second = thread_slot_acquire(2, true);

	ck_assert_ptr_eq(thread_slot_find(2), second);
	thread_slot_release(first);
	ck_assert_ptr_null(thread_slot_find(1));
	ck_assert_ptr_eq(thread_slot_acquire(3, false), first);
	ck_assert_ptr_eq(thread_slot_find(3), first);
	ck_assert_uint_eq(thread_slot_count(), 2);
	ck_assert(thread_slot_is_valid((uintptr_t)first));
	ck_assert(!thread_slot_is_valid((uintptr_t)first + 8));
}
END_TEST

START_TEST(a_forked_child_begins_with_none)
{
	struct thread *before = thread_slot_acquire(1, false);

	atomic_store(&before->clock.cpu.cpu.id_plus_one, 1); /* a timer of the parent */
	thread_slot_release(thread_slot_acquire(2, false));
	thread_slots_after_fork();
	ck_assert_uint_eq(thread_slot_count(), 0);
	ck_assert(!thread_slot_is_valid((uintptr_t)before));
	ck_assert_ptr_null(thread_slot_find(1));
	before = thread_slot_acquire(3, false);
	ck_assert_ptr_nonnull(before);
	ck_assert(!thread_timer_exists(&before->clock.cpu.cpu));
	ck_assert_uint_eq(walk_any(), 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("thread_slots");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, there_may_be_none_left);
	tcase_add_test(tcase, a_free_one_is_taken_again);
	tcase_add_test(tcase, a_forked_child_begins_with_none);
	return suite_run(tcase);
}
