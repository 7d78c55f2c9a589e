/* core/own_thread.c: threads that do not disturb the program, and never more than can be
 * distinguished from its threads. */
#include "core/own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static sem_t begun, may_end;

static struct {
	char name[16];
	bool is_own, is_known, all_blocked;
	int policy, slack_ns, nice;
} seen;

/* All signals that a thread can block: fewer under an emulator. */
static sigset_t blockable;

static void find_blockable(void)
{
	sigset_t every, before;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	pthread_sigmask(SIG_SETMASK, &before, &blockable);
}

static bool blocks_all(void)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		if (sigismember(&mask, signo) != sigismember(&blockable, signo))
			return false;
	return sigismember(&mask, SIGTERM) == 1;
}

static void *look_around(void *argument)
{
	prctl(PR_GET_NAME, seen.name);
	seen.is_own = own_thread_is();
	seen.is_known = own_thread_has_id(gettid());
	seen.all_blocked = blocks_all();
	seen.policy = (int)syscall(SYS_sched_getscheduler, 0);
	seen.slack_ns = prctl(PR_GET_TIMERSLACK);
	seen.nice = getpriority(PRIO_PROCESS, 0);
	sem_post(&begun);
	sem_wait(&may_end);
	return argument;
}

static void *wait_for_end(void *argument)
{
	sem_wait(&may_end);
	return argument;
}

static pid_t id;
static sem_t goes;

static void *note_id(void *argument)
{
	id = gettid();
	sem_post(&begun);
	sem_wait(&goes);
	return argument;
}

/* Ten seconds at most. */
static void wait_for_count(uint32_t count)
{
	for (int i = 0; i < 10000 && own_thread_count() != count; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	ck_assert_uint_eq(own_thread_count(), count);
}

static void set_up(void)
{
	ck_assert_int_eq(sem_init(&begun, 0, 0), 0);
	ck_assert_int_eq(sem_init(&may_end, 0, 0), 0);
	ck_assert_int_eq(sem_init(&goes, 0, 0), 0);
}

START_TEST(is_out_of_the_way)
{
	ck_assert_int_eq(own_thread_start("a name that is too long", look_around, NULL), 0);
	ck_assert_uint_eq(own_thread_count(), 1);
	ck_assert(!own_thread_is());
	ck_assert(!own_thread_has_id(gettid()));
	sem_wait(&begun);
	ck_assert_str_eq(seen.name, "a name that is ");
	ck_assert(seen.is_own && seen.is_known && seen.all_blocked);
	ck_assert_int_eq(seen.nice, getpriority(PRIO_PROCESS, 0));
	sem_post(&may_end);
	wait_for_count(0);
}
END_TEST

START_TEST(is_as_nice_as_the_program)
{
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 15), 0);
	ck_assert_int_eq(own_thread_start("test", look_around, NULL), 0);
	sem_wait(&begun);
	ck_assert_int_eq(seen.nice, 15);
	sem_post(&may_end);
}
END_TEST

static void is_scheduled(int policy, int priority, int as)
{
	/* Not every user may do that, and not everywhere. */
	if (sched_setscheduler(0, policy, &(struct sched_param){ .sched_priority = priority }))
		return;
	ck_assert_int_eq(own_thread_start("test", look_around, NULL), 0);
	sem_wait(&begun);
	ck_assert_int_eq(seen.policy, as);
	sem_post(&may_end);
	wait_for_count(0);
}

START_TEST(is_not_ahead_of_others)
{
	is_scheduled(SCHED_FIFO, 1, SCHED_OTHER);
	is_scheduled(SCHED_RR | SCHED_RESET_ON_FORK, 2, SCHED_OTHER);
	is_scheduled(SCHED_RR, 3, SCHED_OTHER);
	is_scheduled(SCHED_BATCH, 0, SCHED_BATCH);
	is_scheduled(SCHED_IDLE, 0, SCHED_IDLE);
}
END_TEST

START_TEST(is_in_time)
{
	ck_assert_int_eq(prctl(PR_SET_TIMERSLACK, 1000000000), 0);
	ck_assert_int_eq(own_thread_start("test", look_around, NULL), 0);
	sem_wait(&begun);
	ck_assert_int_eq(seen.slack_ns, 50000);
	ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), 1000000000);
	sem_post(&may_end);
}
END_TEST

/* Also if the program has several threads. */
START_TEST(is_told_when_the_kernel_has_forgotten_them)
{
	pthread_t other;

	ck_assert_int_eq(pthread_create(&other, NULL, wait_for_end, NULL), 0);
	ck_assert(own_thread_none_left());
	for (int round = 0; round < 100; round++) {
		ck_assert_int_eq(own_thread_start("test", note_id, NULL), 0);
		ck_assert(!own_thread_none_left());
		sem_wait(&begun);
		sem_post(&goes);
		for (int i = 0; i < 100000 && !own_thread_none_left(); i++)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		ck_assert(own_thread_none_left());
		ck_assert_int_eq(tgkill(getpid(), id, 0), -1);
		ck_assert_int_eq(errno, ESRCH);
	}
	sem_post(&may_end);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
}
END_TEST

START_TEST(one_too_many_is_refused)
{
	for (int i = 0; i < OWN_THREADS_MAX; i++)
		ck_assert_int_eq(own_thread_start("test", wait_for_end, NULL), 0);
	ck_assert_int_eq(own_thread_start("test", wait_for_end, NULL), -EAGAIN);
	for (int i = 0; i < OWN_THREADS_MAX; i++)
		sem_post(&may_end);
	wait_for_count(0);
	sem_post(&may_end);
	ck_assert_int_eq(own_thread_start("test", wait_for_end, NULL), 0);
	wait_for_count(0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	find_blockable();
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, is_out_of_the_way);
	tcase_add_test(tests, is_not_ahead_of_others);
	tcase_add_test(tests, is_in_time);
	tcase_add_test(tests, is_as_nice_as_the_program);
	tcase_add_test(tests, is_told_when_the_kernel_has_forgotten_them);
	tcase_add_test(tests, one_too_many_is_refused);
	return suite_run(tests);
}
