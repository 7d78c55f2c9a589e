/* asyncprof/thread_list: async-profiler sees the program's threads, and no others. */
#include "asyncprof/thread_list.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asyncprof/stream_calls.h"
#include "core/agent/async_profiler.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

struct other {
	pthread_t thread;
	struct engine_thread *place; /* NULL: it is one of the program's */
	pid_t tid;
	sem_t begun, may_end;
};

static void *be_there(void *argument)
{
	struct other *other = argument;

	async_profiler_thread_started(other->place);
	other->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&other->begun);
	sem_wait(&other->may_end);
	async_profiler_thread_ended();
	return NULL;
}

static void begin(struct other *other, bool is_engines)
{
	sem_init(&other->begun, 0, 0);
	sem_init(&other->may_end, 0, 0);
	other->place = is_engines ? async_profiler_thread_allocate() : NULL;
	ck_assert_int_eq(other->place != NULL, is_engines);
	ck_assert_int_eq(pthread_create(&other->thread, NULL, be_there, other), 0);
	async_profiler_thread_created(other->place, true);
	sem_wait(&other->begun);
}

static void end(struct other *other)
{
	sem_post(&other->may_end);
	pthread_join(other->thread, NULL);
}

/* The rest of DIR: the number of threads, and whether TID is among them. */
static int listed(DIR *dir, pid_t tid, bool *is_there)
{
	struct dirent *entry;
	int count = 0;

	*is_there = false;
	while ((entry = engine_readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		*is_there |= atoi(entry->d_name) == tid;
		count++;
	}
	return count;
}

static int listed_anew(DIR *dir, pid_t tid, bool *is_there)
{
	engine_rewinddir(dir);
	return listed(dir, tid, is_there);
}

/* The sanitizer has threads, too, which cannot be distinguished from the program's. */
static void ck_threads(int listed, int expected)
{
	if (THREAD_SANITIZED)
		ck_assert_int_ge(listed, expected);
	else
		ck_assert_int_eq(listed, expected);
}

START_TEST(shows_the_programs_alone)
{
	struct other engines, programs;
	DIR *dir = engine_opendir("/proc/self/task");
	bool is_there;

	ck_assert_ptr_nonnull(dir);
	ck_threads(listed(dir, getpid(), &is_there), 1);
	ck_assert(is_there);
	ck_assert_int_eq(listed(dir, getpid(), &is_there), 0);
	begin(&engines, true);
	ck_threads(listed_anew(dir, getpid(), &is_there), 1);
	ck_assert(is_there);
	listed_anew(dir, engines.tid, &is_there);
	ck_assert(!is_there);
	begin(&programs, false);
	ck_threads(listed_anew(dir, programs.tid, &is_there), 2);
	ck_assert(is_there);
	end(&engines);
	ck_threads(listed_anew(dir, programs.tid, &is_there), 2);
	ck_assert(is_there);
	end(&programs);
	ck_assert_int_eq(engine_closedir(dir), 0);
}
END_TEST

/* One of async-profiler's threads may end between two looks at the number of threads. */
START_TEST(shows_all_while_others_end)
{
	struct other engines, programs;
	DIR *dir = engine_opendir("/proc/self/task");
	bool is_there;

	begin(&programs, false);
	for (int i = 0; i < 1000; i++) {
		begin(&engines, true);
		sem_post(&engines.may_end);
		do {
			listed_anew(dir, programs.tid, &is_there);
			ck_assert(is_there);
		} while (!system_thread_is_gone(engines.tid));
		pthread_join(engines.thread, NULL);
	}
	end(&programs);
	ck_assert_int_eq(engine_closedir(dir), 0);
}
END_TEST

static sem_t own_begun, own_may_end;
static pid_t own_tid;

static void *be_own(void *unused)
{
	own_tid = (pid_t)syscall(SYS_gettid);
	sem_post(&own_begun);
	sem_wait(&own_may_end);
	return unused;
}

START_TEST(shows_none_of_ours)
{
	struct other programs;
	bool is_there;
	DIR *dir;

	sem_init(&own_begun, 0, 0);
	sem_init(&own_may_end, 0, 0);
	ck_assert_int_eq(own_thread_start("own", be_own, NULL), 0);
	sem_wait(&own_begun);
	begin(&programs, false);
	dir = engine_opendir("/proc/self/task");
	ck_threads(listed(dir, own_tid, &is_there), 2);
	ck_assert(!is_there);
	end(&programs);
	ck_assert_int_eq(engine_closedir(dir), 0);
	sem_post(&own_may_end);
}
END_TEST

/* Threads that have ended, and the ones that could not be made, leave their entries. */
START_TEST(has_places_again)
{
	struct other other;

	for (int i = 0; i < 100; i++)
		async_profiler_thread_created(async_profiler_thread_allocate(), false);
	for (int i = 0; i < 100; i++) {
		begin(&other, true);
		end(&other);
	}
}
END_TEST

START_TEST(shows_other_directories_as_they_are)
{
	DIR *dir = engine_opendir("/proc/self/fd");
	bool is_there;

	ck_assert_int_gt(listed(dir, 0, &is_there), 1);
	ck_assert(is_there);
	ck_assert_int_eq(engine_closedir(dir), 0);
	ck_assert_ptr_null(engine_opendir("/proc/self/none"));
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("thread_list");

	tcase_add_test(c, shows_the_programs_alone);
	tcase_add_test(c, shows_all_while_others_end);
	tcase_add_test(c, shows_none_of_ours);
	tcase_add_test(c, has_places_again);
	tcase_add_test(c, shows_other_directories_as_they_are);
	return suite_run(c);
}
