/* asyncprof/loader_gate: a fork waits for the threads inside, and not for ever. */
#include "asyncprof/loader_gate.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "test/fixtures/suite.h"

static sem_t entered, may_leave, left;
static atomic_bool inside;

static void *stay(void *argument)
{
	loader_gate_enter();
	loader_gate_enter();
	atomic_store(&inside, true);
	sem_post(&entered);
	sem_wait(&may_leave);
	loader_gate_leave();
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	atomic_store(&inside, false);
	loader_gate_leave();
	sem_post(&left);
	return argument;
}

/* Detached: the thread sanitizer reports a thread that has ended in each child that was forked
 * before it was joined. */
static void begin_to_stay(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, stay, NULL), 0);
	ck_assert_int_eq(pthread_detach(thread), 0);
	sem_wait(&entered);
}

/* Returns whether a thread was inside at the fork; the child can enter. */
static int fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int was_inside = atomic_load(&inside);

		alarm(20);
		loader_gate_enter();
		loader_gate_leave();
		_exit(was_inside);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void set_up(void)
{
	sem_init(&entered, 0, 0);
	sem_init(&may_leave, 0, 0);
	sem_init(&left, 0, 0);
	ck_assert_int_eq(loader_gate_init(), 0);
}

START_TEST(fork_waits)
{
	begin_to_stay();
	sem_post(&may_leave);
	ck_assert_int_eq(fork_once(), 0);
	sem_wait(&left);
	ck_assert_int_eq(fork_once(), 0);
}
END_TEST

START_TEST(not_for_ever)
{
	uint64_t before = clock_monotonic_ns();

	begin_to_stay();
	ck_assert_int_eq(fork_once(), 1);
	ck_assert_uint_ge(clock_monotonic_ns() - before, LOADER_GATE_WAIT_NS);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(fork_once(), 1);
	/* If all 21 forks waited, this would take longer than 20 waits, however fast the machine is. */
	ck_assert_uint_lt(clock_monotonic_ns() - before, UINT64_C(20) * LOADER_GATE_WAIT_NS);
	sem_post(&may_leave);
	sem_wait(&left);
	ck_assert_int_eq(fork_once(), 0);

	/* That has been added. */
	begin_to_stay();
	sem_post(&may_leave);
	ck_assert_int_eq(fork_once(), 0);
	sem_wait(&left);
}
END_TEST

START_TEST(own_fork)
{
	loader_gate_enter();
	ck_assert_int_eq(fork_once(), 0);
	loader_gate_leave();
	ck_assert_int_eq(fork_once(), 0);
}
END_TEST

/* A fork's handlers that are registered before the gate's: they run between those. */
static bool asks, put_off;
static int came;

static void come(void)
{
	came++;
}

static void ask(void)
{
	if (asks)
		put_off = loader_gate_run_after_fork(come);
}

START_TEST(behind_it)
{
	int status;
	pid_t pid;

	ck_assert(!loader_gate_run_after_fork(come));
	asks = true;
	pid = fork();
	if (!pid)
		_exit(came);
	asks = false;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0); /* only the parent's */
	ck_assert(put_off);
	ck_assert_int_eq(came, 1);
	ck_assert(!loader_gate_run_after_fork(come));
	ck_assert_int_eq(fork_once(), 0);
	ck_assert_int_eq(came, 1);
	came = 0;
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	if (pthread_atfork(ask, NULL, NULL))
		return 1;
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, fork_waits);
	tcase_add_test(tests, not_for_ever);
	tcase_add_test(tests, own_fork);
	tcase_add_test(tests, behind_it);
	return suite_run(tests);
}
