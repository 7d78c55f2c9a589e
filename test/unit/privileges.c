/* core/privileges: a thread of the agent gives up rights that no thread of the program has any
 * more, and no rights that one of them has or can regain. */
#include "core/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/agent/waiters.h"
#include "core/clock.h"
#include "core/kernel.h"
#include "core/shared.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define NOBODY       65534
#define FOLLOWERS_NS 20000000000u

static sem_t go, done;
static bool at_once = true;
static void (*ahead)(void); /* the agent's action before it checks; NULL: none */

static struct {
	int err, no_new;
	uid_t uid, effective, saved;
	gid_t gid, group;
	int groups;
	uint64_t caps;
	uint64_t due_ns, waited_ns;
} seen;

static uint64_t permitted(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	kernel_call4(SYS_capget, (long)&header, (long)data, 0, 0);
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

/* The agent's thread. */
static void *follow(void *unused)
{
	gid_t saved;
	uint32_t change;

	for (;;) {
		sem_wait(&go);
		if (ahead)
			ahead();
		change = at_once ? privileges_changed() : 0;
		seen.err = privileges_follow(at_once);
		seen.waited_ns = clock_monotonic_ns();
		waiters_wake();
		while (!privileges_are_followed(change) &&
		       clock_monotonic_ns() < seen.waited_ns + FOLLOWERS_NS)
			usleep(100);
		seen.waited_ns = clock_monotonic_ns() - seen.waited_ns;
		getresuid(&seen.uid, &seen.effective, &seen.saved);
		getresgid(&seen.gid, &saved, &saved);
		seen.groups = getgroups(1, &seen.group);
		seen.no_new = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
		seen.caps = permitted();
		seen.due_ns = privileges_due_ns();
		sem_post(&done);
	}
	return unused;
}

static void look(void)
{
	sem_post(&go);
	sem_wait(&done);
}

/* Here the main thread is the program's. */
static void set_up(void)
{
	pthread_t thread;

	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, follow, NULL), 0);
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.uid, getuid());
	ck_assert_uint_eq(seen.caps, permitted());
}

static void drop_user(void)
{
	ck_assert_int_eq(kernel_call4(SYS_setgroups, 0, 0, 0, 0), 0);
	ck_assert_int_eq(kernel_call4(SYS_setresgid, NOBODY, NOBODY, NOBODY, 0), 0);
	ck_assert_int_eq(kernel_call4(SYS_setresuid, NOBODY, NOBODY, NOBODY, 0), 0);
}

static void drop_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	ck_assert_int_eq(kernel_call4(SYS_capset, (long)&header, (long)none, 0, 0), 0);
}

START_TEST(an_ordinary_user_has_nothing_to_give_up)
{
	if (!getuid()) /* by the C library: both threads */
		ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.uid, getuid());
	ck_assert_uint_eq(seen.due_ns, UINT64_MAX);
}
END_TEST

START_TEST(a_user_is_followed)
{
	drop_user();
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert(seen.uid == NOBODY && seen.effective == NOBODY && seen.saved == NOBODY);
	ck_assert_uint_eq(seen.gid, NOBODY);
	ck_assert_int_eq(seen.groups, 0);
	ck_assert_uint_eq(seen.caps, 0);
	/* Then there is nothing left to check. */
	look();
	ck_assert_uint_eq(seen.due_ns, UINT64_MAX);
}
END_TEST

START_TEST(capabilities_are_followed)
{
	drop_caps();
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.uid, 0);
	ck_assert_uint_eq(seen.caps, 0);
}
END_TEST

static void drop_cap(int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	ck_assert_int_eq(kernel_call4(SYS_capget, (long)&header, (long)data, 0, 0), 0);
	data[0].permitted &= ~(1u << cap);
	data[0].effective &= ~(1u << cap);
	ck_assert_int_eq(kernel_call4(SYS_capset, (long)&header, (long)data, 0, 0), 0);
}

START_TEST(groups_that_cannot_be_regained_are_followed)
{
	gid_t groups[] = { 17, 4711 }, fewer[] = { 4711 };

	ck_assert_int_eq(setgroups(2, groups), 0); /* by the C library: both threads */
	ck_assert_int_eq(kernel_call4(SYS_setgroups, 1, (long)fewer, 0, 0), 0);
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_gt(seen.caps, 0);
	drop_cap(CAP_SETGID);
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_int_eq(seen.groups, 1);
	ck_assert_uint_eq(seen.group, 4711);
	ck_assert_uint_eq(seen.caps, permitted());
}
END_TEST

/* The result in the main thread, which holds everything, after each kind of call. */
START_TEST(only_a_loss_of_the_process_is_reported)
{
	const uint64_t users = 1u << CAP_SETUID;

	look();
	ck_assert_int_eq(atomic_load(&shared->privileges.holder), getpid());
	/* A user that can be regained, with CAP_SETUID. */
	ck_assert_int_eq(kernel_call4(SYS_setresuid, -1, NOBODY, -1, 0), 0);
	ck_assert(!privileges_are_lost(users, false));
	ck_assert_int_eq(kernel_call4(SYS_setresuid, -1, 0, -1, 0), 0);
	/* Nothing of the permitted set. */
	ck_assert(!privileges_are_lost(0, false));
	/* A bounding set cannot be regained. */
	ck_assert(privileges_are_lost(UINT64_MAX, false));
	/* A capability. */
	drop_cap(CAP_SYS_TIME);
	ck_assert(privileges_are_lost(0, false));
	look();
	ck_assert_uint_eq(seen.caps, permitted());
	ck_assert(!privileges_are_lost(0, false));
	/* All of it. */
	drop_user();
	ck_assert(privileges_are_lost(users, false));
	look();
	look();
	ck_assert_uint_eq(seen.uid, NOBODY);
	ck_assert(!privileges_are_lost(UINT64_MAX, true));
}
END_TEST

START_TEST(that_no_new_ones_come_is_followed)
{
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_int_eq(seen.no_new, 1);
	ck_assert_uint_eq(seen.caps, permitted());
}
END_TEST

START_TEST(what_can_be_taken_back_is_kept)
{
	ck_assert_int_eq(kernel_call4(SYS_setresuid, -1, NOBODY, -1, 0), 0);
	look();
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.effective, 0);
	ck_assert_uint_gt(seen.caps, 0);
	/* As a leak checker needs it at exit. */
	ck_assert_int_eq(kernel_call4(SYS_setresuid, -1, 0, -1, 0), 0);
}
END_TEST

static sem_t may_end;

static void *keep(void *unused)
{
	sem_wait(&may_end);
	return unused;
}

static bool worker_lost, all_lost;

static void *drop_in_worker(void *unused)
{
	drop_user();
	worker_lost = privileges_are_lost(1u << CAP_SETUID, false);
	all_lost = privileges_are_lost(1u << CAP_SETUID, true);
	return unused;
}

/* As in a file server that drops root in a thread for each request. */
START_TEST(a_thread_beside_the_holder_loses_nothing_for_the_process)
{
	pthread_t thread;

	look();
	ck_assert_int_eq(pthread_create(&thread, NULL, drop_in_worker, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(!worker_lost);
	ck_assert(all_lost);
	look();
	ck_assert_uint_eq(seen.uid, 0);
	/* The holder has ended: no thread is known to keep the rights. */
	atomic_store(&shared->privileges.holder, INT32_MAX);
	ck_assert_int_eq(pthread_create(&thread, NULL, drop_in_worker, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(worker_lost);
}
END_TEST

/* As in a server that takes its client's user, in one thread or in all but one. */
START_TEST(what_another_thread_has_is_kept)
{
	pthread_t thread;

	sem_init(&may_end, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, keep, NULL), 0);
	drop_user();
	for (int i = 0; i < 2; i++) {
		look();
		ck_assert_int_eq(seen.err, 0);
		ck_assert_uint_eq(seen.uid, 0);
		ck_assert_uint_gt(seen.caps, 0);
	}
	sem_post(&may_end);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	do /* the kernel may still list it for a moment */
		look();
	while (seen.uid == 0 && (usleep(1000), true));
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.uid, NOBODY);
	ck_assert_uint_eq(seen.caps, 0);
}
END_TEST

/* On a wakeup first, then only when it is due. */
static sem_t changed;

/* As setpriv does, which gives up its capabilities afterwards. */
static void drop_user_but_keep_caps(void)
{
	ck_assert_int_eq(kernel_call6(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0, 0), 0);
	drop_user();
	sem_post(&changed);
}

/* The C library has changed this thread, and not yet the thread that requested it. */
START_TEST(one_that_is_ahead_waits_for_the_program)
{
	struct timespec until_looked = { .tv_nsec = 5000000 };

	sem_init(&changed, 0, 0);
	ahead = drop_user_but_keep_caps;
	sem_post(&go);
	sem_wait(&changed);
	nanosleep(&until_looked, NULL);
	drop_user_but_keep_caps();
	sem_wait(&done);
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.uid, NOBODY);
}
END_TEST

START_TEST(follows_when_told_and_in_time)
{
	at_once = false;
	if (!_i)
		privileges_changed();
	drop_user();
	do
		look();
	while (_i && seen.uid == 0 && (usleep(10000), true));
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.uid, NOBODY);
}
END_TEST

/* Another thread of the agent, which checks by time, until it has no more rights. */
static void *look_too(void *unused)
{
	while (permitted()) {
		privileges_follow(false);
		usleep(10000);
	}
	return unused;
}

START_TEST(all_threads_follow_in_time)
{
	pthread_t others[3];

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&others[i], NULL, look_too, NULL), 0);
	usleep(20000);
	drop_user();
	for (int i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
}
END_TEST

static sem_t woken;

static void wake(void *which)
{
	ck_assert_ptr_eq(which, &woken);
	sem_post(&woken);
}

/* Another thread of the agent, which sleeps until it is woken. */
static void *sleep_and_follow(void *is_there)
{
	waiters_add(wake, &woken);
	privileges_follow(true);
	ck_assert_uint_eq(privileges_due_ns(), UINT64_MAX); /* it does not check by itself */
	sem_post(is_there);
	while (permitted()) {
		sem_wait(&woken);
		privileges_follow(false);
	}
	waiters_remove();
	return NULL;
}

/* When the agent's thread has given up a right, sleeping threads have done so too. */
START_TEST(who_sleeps_follows_at_once)
{
	sem_t is_there;
	pthread_t other;
	int asleep;

	sem_init(&woken, 0, 0);
	sem_init(&is_there, 0, 0);
	ck_assert_int_eq(pthread_create(&other, NULL, sleep_and_follow, &is_there), 0);
	sem_wait(&is_there);
	look();
	ck_assert_int_eq(sem_getvalue(&woken, &asleep), 0);
	ck_assert_int_eq(asleep, 0); /* there was nothing to give up */
	drop_user();
	look();
	ck_assert_uint_eq(seen.uid, NOBODY);
	ck_assert(seen.waited_ns < FOLLOWERS_NS);
	pthread_join(other, NULL);
	/* A thread that has left is neither woken nor waited for. */
	privileges_changed();
	look();
	ck_assert_int_eq(sem_getvalue(&woken, &asleep), 0);
	ck_assert_int_eq(asleep, 0);
}
END_TEST

/* (The thread sanitizer has its own thread in the program, which gives up nothing.) */
static bool may_drop(void)
{
	return !THREAD_SANITIZED && !getuid() && permitted() >> CAP_SETUID & 1 &&
	       permitted() >> CAP_SETPCAP & 1;
}

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, an_ordinary_user_has_nothing_to_give_up);
	/* (An emulator's thread keeps the rights that the program's threads give up.) */
	if (may_drop() && !getenv("TEST_RUNNER")) {
		tcase_add_test(tests, all_threads_follow_in_time);
		tcase_add_loop_test(tests, follows_when_told_and_in_time, 0, 2);
		tcase_add_test(tests, who_sleeps_follows_at_once);
		tcase_add_test(tests, a_user_is_followed);
		tcase_add_test(tests, capabilities_are_followed);
		tcase_add_test(tests, groups_that_cannot_be_regained_are_followed);
		tcase_add_test(tests, only_a_loss_of_the_process_is_reported);
		tcase_add_test(tests, a_thread_beside_the_holder_loses_nothing_for_the_process);
		tcase_add_test(tests, that_no_new_ones_come_is_followed);
		tcase_add_test(tests, what_can_be_taken_back_is_kept);
		tcase_add_test(tests, what_another_thread_has_is_kept);
		tcase_add_test(tests, one_that_is_ahead_waits_for_the_program);
	}
	return suite_run(tests);
}
