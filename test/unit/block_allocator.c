/* asyncprof/block_allocator.c: like malloc(3), for several threads at once and in signal handlers. */
#include "asyncprof/block_allocator.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

#define THREADS 4
#define HELD    64
#define ROUNDS  20000

static void is(const char *block, size_t bytes, char byte)
{
	size_t i = 0;

	while (i < bytes && block[i] == byte)
		i++;
	ck_assert_uint_eq(i, bytes);
}

/* Each block has the requested size, is aligned, and overlaps no other. */
START_TEST(of_all_sizes)
{
	char *blocks[3000];

	for (size_t n = 0; n < 3000; n++) {
		blocks[n] = block_allocate(n * n / 300);
		ck_assert_ptr_ne(blocks[n], NULL);
		ck_assert_uint_eq((uintptr_t)blocks[n] % 16, 0);
		ck_assert(block_is_ours(blocks[n]));
		memset(blocks[n], (int)(n % 127), n * n / 300);
	}
	for (size_t n = 0; n < 3000; n++)
		is(blocks[n], n * n / 300, (char)(n % 127));
	for (size_t n = 0; n < 3000; n++)
		block_free(blocks[n]);
}
END_TEST

START_TEST(of_others)
{
	char *other = calloc(1, 100), here = 0;

	ck_assert(!block_is_ours(other));
	ck_assert(!block_is_ours(&here));
	ck_assert(!block_is_ours(NULL));
	free(other);
}
END_TEST

START_TEST(again)
{
	char *first = block_allocate(1000), *second = block_allocate(1000);

	block_free(first);
	block_free(second);
	ck_assert_ptr_eq(block_allocate(990), second);
	ck_assert_ptr_eq(block_allocate(1000), first);
}
END_TEST

/* Also one that was written to. */
START_TEST(zeroed)
{
	static const size_t sizes[] = { 1, 100, 5000, 100000, 3000000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int round = 0; round < 3; round++) {
			char *block = block_allocate_zeroed(sizes[i], 3);

			ck_assert_ptr_ne(block, NULL);
			is(block, sizes[i] * 3, 0);
			memset(block, 5, sizes[i] * 3);
			block_free(block);
		}
}
END_TEST

START_TEST(resized)
{
	char *block = block_allocate(10);

	memset(block, 7, 10);
	for (size_t bytes = 10; bytes < 10000000; bytes = bytes * 5 / 3) {
		block = block_resize(block, bytes);
		ck_assert_ptr_ne(block, NULL);
		is(block, 10, 7);
		memset(block, 7, bytes);
	}
	block = block_resize(block, 5);
	is(block, 5, 7);
}
END_TEST

START_TEST(text)
{
	char *copy = block_copy_text("a few words", 5), *whole = block_copy_text("words", SIZE_MAX);

	ck_assert_str_eq(copy, "a few");
	ck_assert_str_eq(whole, "words");
}
END_TEST

START_TEST(too_much)
{
	ck_assert_ptr_eq(block_allocate(SIZE_MAX), NULL);
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_ptr_eq(block_allocate(SIZE_MAX - 7), NULL);
	ck_assert_ptr_eq(block_allocate((size_t)1 << 40), NULL);
	ck_assert_ptr_eq(block_allocate_zeroed(SIZE_MAX / 2, 3), NULL);
	ck_assert_ptr_ne(block_allocate(1), NULL);
}
END_TEST

/* A large freed block has no pages any more. */
START_TEST(pages_go)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), there = 0;
	char *block = block_allocate(1 << 20);
	char *start = (char *)((uintptr_t)block & -page);
	unsigned char pages[300];

	memset(block, 1, 1 << 20);
	block_free(block);
	ck_assert_int_eq(mincore(start, 1 << 20, pages), 0);
	for (size_t i = 0; i < (1 << 20) / page; i++)
		there += pages[i] & 1;
	ck_assert_uint_le(there, 1);
}
END_TEST

/* Allocates and frees in random order, and checks the contents. */
static void churn(unsigned int seed, size_t rounds)
{
	static const size_t sizes[] = { 1, 24, 30, 200, 5000, 70000 };
	unsigned char *held[HELD] = { NULL }, mark = (unsigned char)seed;
	size_t bytes[HELD] = { 0 };

	for (size_t i = 0; i < rounds; i++) {
		size_t k = (size_t)rand_r(&seed) % HELD;

		if (held[k]) {
			if (held[k][0] != mark || held[k][bytes[k] - 1] != mark)
				abort();
			block_free(held[k]);
		}
		bytes[k] = sizes[(size_t)rand_r(&seed) % (sizeof(sizes) / sizeof(sizes[0]))];
		held[k] = block_allocate(bytes[k]);
		if (!held[k])
			abort();
		held[k][0] = held[k][bytes[k] - 1] = mark;
	}
	for (size_t k = 0; k < HELD; k++)
		if (held[k])
			block_free(held[k]);
}

static void *churn_here(void *number)
{
	churn(1 + (unsigned int)(uintptr_t)number, ROUNDS);
	return NULL;
}

static void churn_everywhere(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn_here, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(at_once)
{
	churn_everywhere();
}
END_TEST

/* A handler allocates at any point of that. */
static atomic_int interrupted;

static void on_alarm(int signo)
{
	int saved = errno;

	(void)signo;
	churn(100, 20);
	atomic_fetch_add(&interrupted, 1);
	errno = saved;
}

START_TEST(in_its_midst)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerspec often = { { 0, 200000 }, { 0, 200000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &often, NULL), 0);
	while (atomic_load(&interrupted) < 50)
		churn_everywhere();
	timer_delete(timer);
}
END_TEST

/* A fork during a call: the child continues with its own memory, and the parent's is unchanged. */
static void *fork_often(void *unused)
{
	for (int i = 0; i < 50; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			churn(7, 200);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			abort();
	}
	return unused;
}

START_TEST(in_children)
{
	pthread_t forks;

	ck_assert_int_eq(pthread_create(&forks, NULL, fork_often, NULL), 0);
	churn_everywhere();
	pthread_join(forks, NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_blocks");
	TCase *all = tcase_create("all");

	tcase_add_test(all, of_all_sizes);
	tcase_add_test(all, of_others);
	tcase_add_test(all, again);
	tcase_add_test(all, zeroed);
	tcase_add_test(all, resized);
	tcase_add_test(all, text);
	tcase_add_test(all, too_much);
	tcase_add_test(all, pages_go);
	tcase_add_test(all, at_once);
	tcase_add_test(all, in_its_midst);
	tcase_add_test(all, in_children);
	suite_add_tcase(suite, all);
	return suite_run_all(suite);
}
