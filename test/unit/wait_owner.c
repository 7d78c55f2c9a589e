/* engine/wait/wait_owner: the owner of a lock, by the words of the C library's locks. */
#include "engine/wait/wait_owner.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, words, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, locks_of_the_c_library);
	return suite_run(tests);
}
