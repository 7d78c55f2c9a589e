/* asyncprof/thread_names.c: names of sampled threads outlive the threads. */
#include "asyncprof/thread_names.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static pthread_barrier_t step;
static pid_t tid;

static void *be_sampled(void *name)
{
	bool requests[8];

	tid = gettid();
	pthread_setname_np(pthread_self(), name);
	for (size_t i = 0; i < 8; i++)
		requests[i] = thread_names_request();
	for (size_t i = 0; i < 8; i++)
		ck_assert_int_eq(requests[i], i == 0 || i == 1 || i == 3 || i == 7);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return NULL;
}

static void run_thread(char *name, bool reads)
{
	pthread_t thread;

	pthread_barrier_init(&step, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, be_sampled, name), 0);
	pthread_barrier_wait(&step);
	if (reads)
		thread_names_read();
	pthread_barrier_wait(&step);
	pthread_join(thread, NULL);
}

START_TEST(shows_names_of_ended_threads)
{
	char name[THREAD_NAME_BYTES];
	size_t position = 0;

	run_thread("worker", true);
	ck_assert_int_eq(thread_names_next(&position), 0);
	ck_assert_uint_eq(thread_names_copy(tid, name), 0);
	thread_names_show(true);
	ck_assert_int_eq(thread_names_next(&position), tid);
	ck_assert_int_eq(thread_names_next(&position), 0);
	ck_assert_uint_eq(thread_names_copy(tid, name), strlen("worker\n"));
	ck_assert_mem_eq(name, "worker\n", strlen("worker\n"));
	ck_assert_uint_eq(thread_names_copy(tid + 1, name), 0);
	thread_names_show(false);
	thread_names_show(true);
	ck_assert_uint_eq(thread_names_copy(tid, name), 0);
	thread_names_show(false);
}
END_TEST

START_TEST(has_no_name_of_a_thread_that_ended_before)
{
	char name[THREAD_NAME_BYTES];

	run_thread("worker", false);
	thread_names_read();
	thread_names_show(true);
	ck_assert_uint_eq(thread_names_copy(tid, name), 0);
	thread_names_show(false);
}
END_TEST

/* async-profiler keeps the names that it has read. */
START_TEST(shows_a_limited_number)
{
	char name[THREAD_NAME_BYTES];

	run_thread("worker", true);
	thread_names_show(true);
	for (int i = 0; i < 1024; i++)
		ck_assert_uint_ne(thread_names_copy(tid, name), 0);
	thread_names_show(false);
	ck_assert(!thread_names_request());
	thread_names_reset();
	ck_assert(thread_names_request());
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("thread_names");

	tcase_add_test(c, shows_names_of_ended_threads);
	tcase_add_test(c, has_no_name_of_a_thread_that_ended_before);
	tcase_add_test(c, shows_a_limited_number);
	return suite_run(c);
}
