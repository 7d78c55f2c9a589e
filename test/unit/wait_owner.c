/* engine/wait/wait_owner: the owner of a lock, by the words of the C library's locks. */
#include "engine/wait/wait_owner.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

static bool is_thread(void *context, pid_t tid)
{
	(void)context;
	return tid == 1 || tid == 500;
}

static const struct {
	uint32_t words[WAIT_OWNER_WORDS];
	size_t count;
	pid_t owner;
	enum wait_owner_kind kind;
} rows[] = {
	{ { 2, 0, 500, 1, 0 }, 5, 500, WAIT_OWNER_MUTEX },
	{ { 1, 0, 500, 1, 0 }, 5, 500, WAIT_OWNER_MUTEX }, /* 1 is a state, and a thread */
	{ { 0x80000000u | 500, 0, 0, 0, 0 }, 5, 500, WAIT_OWNER_WORD },
	{ { 3, 0, 0, 0, 500 }, 5, 500, WAIT_OWNER_RWLOCK },
	{ { 3, 0, 0, 500, 0 }, 5, 500, WAIT_OWNER_RWLOCK },
	{ { 3, 0, 0, 0, 500 }, 4, 0, WAIT_OWNER_NONE }, /* cannot be read */
	{ { 2, 0, 77, 0, 0 }, 5, 0, WAIT_OWNER_NONE },  /* of another process */
	{ { 0 }, 0, 0, WAIT_OWNER_NONE },
};

START_TEST(words)
{
	uint8_t kinds = WAIT_OWNER_ANY, others = (uint8_t) ~(1u << rows[_i].kind);

	ck_assert_int_eq(
		wait_owner_of_words(rows[_i].words, rows[_i].count, is_thread, NULL, &kinds),
		rows[_i].owner);
	ck_assert_uint_eq(kinds, rows[_i].owner ? 1u << rows[_i].kind : WAIT_OWNER_ANY);
	ck_assert_int_ne(
		wait_owner_of_words(rows[_i].words, rows[_i].count, is_thread, NULL, &others), 500);
}
END_TEST

/* This thread holds real locks, and another one would wait. */
START_TEST(locks_of_the_c_library)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	pid_t self = (pid_t)syscall(SYS_gettid);
	struct wait wait = { .lock = (uintptr_t)&mutex, .owner_kinds = WAIT_OWNER_ANY };

	wait_find_owner(&wait, self + 1);
	ck_assert_int_eq(wait.owner, 0);
	pthread_mutex_lock(&mutex);
	wait_find_owner(&wait, self + 1);
	ck_assert_int_eq(wait.owner, self);
	ck_assert_uint_eq(wait.owner_kinds, 1u << WAIT_OWNER_MUTEX);
	wait_find_owner(&wait, self); /* no thread waits for itself, except in a deadlock */
	ck_assert_int_eq(wait.owner, 0);
	pthread_rwlock_wrlock(&lock);
	for (uintptr_t at = 8; at <= 12; at += 4) {
		wait.lock = (uintptr_t)&lock + at;
		wait.owner_kinds = WAIT_OWNER_ANY;
		wait_find_owner(&wait, self + 1);
		ck_assert_int_eq(wait.owner, self);
		ck_assert_uint_eq(wait.owner_kinds, 1u << WAIT_OWNER_RWLOCK);
	}
	wait.lock = 0x10;
	wait_find_owner(&wait, self + 1);
	ck_assert_int_eq(wait.owner, 0);
}
END_TEST

static pthread_rwlock_t handed = PTHREAD_RWLOCK_INITIALIZER;
static atomic_bool is_in_handler, may_return, may_unlock;
static _Atomic pid_t writer;

static void wait_until(atomic_bool *flag)
{
	while (!atomic_load(flag))
		usleep(1000);
}

static void stay(int signo)
{
	(void)signo;
	atomic_store(&is_in_handler, true);
	wait_until(&may_return);
}

static void *writes(void *unused)
{
	atomic_store(&writer, (pid_t)syscall(SYS_gettid));
	pthread_rwlock_wrlock(&handed);
	wait_until(&may_unlock);
	pthread_rwlock_unlock(&handed);
	return unused;
}

/* The writer is kept from running by a signal handler. The thread sanitizer runs a handler only after the lock's call has
 * returned. */
START_TEST(a_lock_that_is_handed_over)
{
	pid_t self = (pid_t)syscall(SYS_gettid);
	struct wait wait = { .lock = (uintptr_t)&handed + 8, .owner_kinds = WAIT_OWNER_ANY };
	pthread_t thread;

	signal(SIGUSR1, stay);
	pthread_rwlock_rdlock(&handed);
	ck_assert(!pthread_create(&thread, NULL, writes, NULL));
	while (!(*(volatile uint32_t *)&handed & 2)) /* it has begun to wait */
		usleep(1000);
	wait_find_owner(&wait, self);
	ck_assert(!wait.is_handed_over);
	pthread_kill(thread, SIGUSR1);
	wait_until(&is_in_handler);
	pthread_rwlock_unlock(&handed);
	wait_find_owner(&wait, self);
	ck_assert_int_eq(wait.owner, 0);
	ck_assert(wait.is_handed_over);
	atomic_store(&may_return, true);
	while (!wait.owner)
		wait_find_owner(&wait, self);
	ck_assert_int_eq(wait.owner, writer);
	ck_assert(!wait.is_handed_over);
	atomic_store(&may_unlock, true);
	pthread_join(thread, NULL);
	wait_find_owner(&wait, self);
	ck_assert(!wait.is_handed_over);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, words, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, locks_of_the_c_library);
	if (!THREAD_SANITIZED)
		tcase_add_test(tests, a_lock_that_is_handed_over);
	return suite_run(tests);
}
