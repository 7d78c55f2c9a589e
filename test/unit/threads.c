/* engine/sample/threads and engine/collect/thread_look: every thread has a slot while it lives,
 * however it was started. */
#include "core/signal_share.h"
#include "engine/collect/thread_look.h"
#include "engine/sample/thread_slots.h"
#include "engine/sample/threads.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static sem_t ready, leave;
static pid_t tid;
static struct thread *taken;
static uint32_t before; /* a sanitizer has threads of its own */

static void setup(void)
{
	static const struct thread_timers timers = { .signo = 0, .cpu_interval_ns = UINT64_MAX };

	sem_init(&ready, 0, 0);
	sem_init(&leave, 0, 0);
	ck_assert_int_eq(thread_look_open(&timers), 0);
	before = thread_slot_count();
	ck_assert_uint_ge(before, 1);
}

static void find(void *wanted, struct thread *t)
{
	if (atomic_load(&t->tid) == *(pid_t *)wanted)
		taken = t;
}

static struct thread *slot_of_tid(pid_t wanted)
{
	taken = NULL;
	threads_each(find, &wanted);
	return taken;
}

static void count_last(void *count, struct thread *t)
{
	ck_assert(atomic_load(&t->ended));
	++*(int *)count;
}

/* A thread that the interposers register. */
static void *told(void *unused)
{
	tid = gettid();
	threads_started(gettid(), 0x1000, 0x2000, 0x3000);
	sem_post(&ready);
	sem_wait(&leave);
	threads_ended();
	return unused;
}

static void *untold(void *unused)
{
	tid = gettid();
	sem_post(&ready);
	sem_wait(&leave);
	return unused;
}

START_TEST(the_first_thread_is_found)
{
	struct thread *own = threads_self();

	ck_assert_ptr_nonnull(own);
	ck_assert_ptr_eq(own, slot_of_tid(getpid()));
	ck_assert(own->found);
	ck_assert_uint_lt(own->stack_low, (uintptr_t)&own);
	ck_assert_uint_gt(own->stack_high, (uintptr_t)&own);
}
END_TEST

START_TEST(a_thread_takes_and_leaves_its_slot)
{
	pthread_t thread;
	struct thread *t;
	int reaped = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, told, NULL), 0);
	sem_wait(&ready);
	t = slot_of_tid(tid);
	ck_assert_ptr_nonnull(t);
	ck_assert(!t->found);
	ck_assert_uint_eq(t->stack_low, 0x1000);
	ck_assert_uint_eq(t->stack_high, 0x2000);
	ck_assert_uint_eq(t->entry, 0x3000);
	ck_assert_uint_eq(thread_slot_count(), before + 1);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 0);
	sem_post(&leave);
	pthread_join(thread, NULL);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 1);
	ck_assert_uint_eq(thread_slot_count(), before);
	ck_assert_ptr_null(slot_of_tid(tid));
	/* The slot is available for the next thread. */
	ck_assert_int_eq(pthread_create(&thread, NULL, told, NULL), 0);
	sem_wait(&ready);
	ck_assert_ptr_eq(slot_of_tid(tid), t);
	sem_post(&leave);
	pthread_join(thread, NULL);
}
END_TEST

static void *told_alone(void *unused)
{
	threads_started(gettid(), 0x1000, 0x2000, 0x3000);
	threads_ended();
	return unused;
}

static void run_alone(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, told_alone, NULL), 0);
	pthread_join(thread, NULL);
}

/* Only once: the visit also sees the new thread's slot. */
static void run_in_visit(void *has_run, struct thread *t)
{
	(void)t;
	if (!*(bool *)has_run)
		run_alone();
	*(bool *)has_run = true;
}

/* Thousands of such threads may end until the agent's thread looks. */
START_TEST(an_unknown_thread_releases_its_slot)
{
	bool has_run = false;
	int reaped = 0;

	run_alone();
	ck_assert_uint_eq(thread_slot_count(), before);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 0);
	/* Not during a visit, which may use it. */
	threads_each(run_in_visit, &has_run);
	ck_assert_uint_eq(thread_slot_count(), before + 1);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 1);
	ck_assert_uint_eq(thread_slot_count(), before);
}
END_TEST

/* The thread may be about to register itself, so it is adopted by the second scan. */
START_TEST(a_thread_is_found_by_looking)
{
	pthread_t thread;
	struct thread *t;
	int reaped = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, untold, NULL), 0);
	sem_wait(&ready);
	thread_look();
	ck_assert_ptr_null(slot_of_tid(tid));
	thread_look();
	t = slot_of_tid(tid);
	ck_assert_ptr_nonnull(t);
	ck_assert(t->found);
	sem_post(&leave);
	pthread_join(thread, NULL);
	/* The kernel may still list the thread for a moment. */
	while (!atomic_load(&t->ended)) {
		usleep(1000);
		thread_look();
	}
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 1);
}
END_TEST

static sem_t adopted;

/* A scan finds it before it registers itself. */
static void *late(void *unused)
{
	tid = gettid();
	sem_post(&ready);
	sem_wait(&adopted);
	return told(unused);
}

START_TEST(a_thread_that_was_found_registers_itself)
{
	pthread_t thread;
	uint32_t count;
	int reaped = 0;

	sem_init(&adopted, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, late, NULL), 0);
	sem_wait(&ready);
	thread_look();
	thread_look();
	ck_assert_ptr_nonnull(slot_of_tid(tid));
	sem_post(&adopted);
	sem_wait(&ready);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 1);
	count = thread_slot_count(); /* (a sanitizer has a thread too) */
	ck_assert(!slot_of_tid(tid)->found);
	/* The other way round. */
	threads_adopt(tid, 0, 0);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(reaped, 2);
	ck_assert_uint_eq(thread_slot_count(), count);
	ck_assert(!slot_of_tid(tid)->found);
	sem_post(&leave);
	pthread_join(thread, NULL);
}
END_TEST

/* Requests its counter, and ends. */
static void *asks(void *local)
{
	threads_started(gettid(), 0x1000, 0x2000, 0x3000);
	tid = gettid();
	*(struct asprof_thread_local_data **)local = threads_local();
	sem_post(&ready);
	sem_wait(&leave);
	threads_ended();
	return NULL;
}

START_TEST(a_counter_outlives_its_thread)
{
	struct asprof_thread_local_data *local = NULL, *next = NULL;
	pthread_t thread;
	struct thread *t;
	int reaped = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, asks, &local), 0);
	sem_wait(&ready);
	t = slot_of_tid(tid);
	threads_counted(t, 17);
	ck_assert_uint_eq(local->sample_counter, 17);
	sem_post(&leave);
	pthread_join(thread, NULL);
	/* The agent's thread may be about to update the counter. */
	threads_counted(t, 18);
	ck_assert_uint_eq(local->sample_counter, 18);
	threads_reap(count_last, &reaped);
	/* The slot's next owner has not requested a counter; when it does, one is free again. */
	ck_assert_int_eq(pthread_create(&thread, NULL, asks, &next), 0);
	sem_wait(&ready);
	ck_assert_ptr_eq(slot_of_tid(tid), t);
	ck_assert_ptr_eq(next, local);
	sem_post(&leave);
	pthread_join(thread, NULL);
	threads_reap(count_last, &reaped);
	ck_assert_int_eq(pthread_create(&thread, NULL, told, NULL), 0);
	sem_wait(&ready);
	threads_counted(slot_of_tid(tid), 19);
	ck_assert_uint_eq(local->sample_counter, 18);
	sem_post(&leave);
	pthread_join(thread, NULL);
}
END_TEST

static void *tell_whose_slot(void *unused)
{
	struct thread *t;
	sigset_t mask;

	threads_started(gettid(), 0x1000, 0x2000, 0x3000);
	t = threads_self();
	ck_assert(threads_is_self(t));
	ck_assert(!threads_is_self(slot_of_tid(getpid())));
	threads_ended();
	ck_assert(!threads_is_self(t));
	/* Nothing is blocked: the C library's own signals and faults belong to the program. */
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	for (int signo = 1; signo < SIGRTMAX; signo++)
		ck_assert_int_ne(sigismember(&mask, signo), 1);
	return unused;
}

START_TEST(a_slot_is_its_threads_until_that_ends)
{
	pthread_t thread;

	ck_assert(threads_is_self(threads_self())); /* also for an adopted thread */
	ck_assert_int_eq(pthread_create(&thread, NULL, tell_whose_slot, NULL), 0);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_signals_value_is_checked)
{
	struct thread *own = threads_self();

	ck_assert(thread_slot_is_valid((uintptr_t)own));
	ck_assert(!thread_slot_is_valid((uintptr_t)own + 8));
	ck_assert(!thread_slot_is_valid(0));
	ck_assert(!thread_slot_is_valid((uintptr_t)&own));
	ck_assert_uint_eq((uintptr_t)own & CLOCK_KIND_BITS, 0);
}
END_TEST

/* A thread without a slot has no timer. */
START_TEST(a_thread_that_finds_no_slot_is_counted)
{
	uint64_t refused = signal_share_refused();
	pid_t other = 1 << 24;
	pthread_t thread;

	while (thread_slot_acquire(other, true))
		other++;
	ck_assert_int_eq(pthread_create(&thread, NULL, told, NULL), 0);
	sem_wait(&ready);
	ck_assert_uint_eq(signal_share_refused(), refused + 1);
	sem_post(&leave);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(closed)
{
	threads_close();
	ck_assert_uint_eq(thread_slot_count(), 0);
	threads_started(gettid(), 1, 2, 3); /* no slot is acquired now */
	ck_assert_uint_eq(thread_slot_count(), 0);
	setup();
	ck_assert_ptr_nonnull(slot_of_tid(getpid()));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_first_thread_is_found);
	tcase_add_test(tests, a_thread_takes_and_leaves_its_slot);
	tcase_add_test(tests, an_unknown_thread_releases_its_slot);
	tcase_add_test(tests, a_thread_is_found_by_looking);
	tcase_add_test(tests, a_thread_that_was_found_registers_itself);
	tcase_add_test(tests, a_counter_outlives_its_thread);
	tcase_add_test(tests, a_slot_is_its_threads_until_that_ends);
	tcase_add_test(tests, a_signals_value_is_checked);
	tcase_add_test(tests, a_thread_that_finds_no_slot_is_counted);
	tcase_add_test(tests, closed);
	return suite_run(tests);
}
