/* asyncprof/fd_proxy: calls for the program's threads, made in the descriptor table of the engine. */
#include "asyncprof/fd_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asyncprof/fd_calls.h"
#include "asyncprof/stream_calls.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "test/fixtures/suite.h"

/* The engine's thread starts the proxy, and stops it after the barrier. */
static pthread_barrier_t turn;
static int opened;

/* In a thread that the library starts. */
static bool is_here_for_others;

static void *check_proxy(void *unused)
{
	is_here_for_others = fd_proxy_is_local();
	return unused;
}

static void start_as_a_library_does(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, check_proxy, NULL))
		pthread_join(thread, NULL);
}

static void *run_engine(void *unused)
{
	(void)unused;
	opened = own_fds_leave_for_engine();
	if (!opened)
		opened = fd_proxy_start();
	if (!opened)
		start_as_a_library_does();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	fd_proxy_stop();
	pthread_barrier_wait(&turn);
	return NULL;
}

static void stop_proxy(void)
{
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
}

static bool desk_is_open(void)
{
	ck_assert_int_eq(own_thread_start("engine", run_engine, NULL), 0);
	pthread_barrier_wait(&turn);
	if (opened)
		fprintf(stderr, "fd_proxy: cases are left out: %s\n", strerror(-opened));
	return !opened;
}

/* The lowest number that is free in the program. */
static int lowest(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

START_TEST(opens_elsewhere)
{
	int next = lowest(), fd;
	char text[64] = "";
	FILE *file;

	if (!desk_is_open())
		return;
	ck_assert(!fd_proxy_is_local());
	fd = engine_open("/proc/self/maps", O_RDONLY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lowest(), next);
	ck_assert_int_eq(engine_read(fd, text, 1), 1);
	ck_assert_int_eq(engine_lseek(fd, 0, SEEK_CUR), 1);
	ck_assert_int_eq(engine_close(fd), 0);
	ck_assert_int_eq(engine_read(fd, text, 1), -1);
	ck_assert_int_eq(errno, EBADF);

	file = engine_fopen("/proc/self/maps", "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(lowest(), next);
	ck_assert_ptr_nonnull(engine_fgets(text, sizeof(text), file));
	ck_assert_ptr_nonnull(strchr(text, '-'));
	ck_assert_int_eq(engine_fclose(file), 0);

	ck_assert_int_eq(engine_open("/nowhere/at/all", O_RDONLY, 0), -1);
	ck_assert_int_eq(errno, ENOENT);
	stop_proxy();
}
END_TEST

START_TEST(lists_elsewhere)
{
	int next = lowest(), entries = 0;
	DIR *dir;

	if (!desk_is_open())
		return;
	dir = engine_opendir("/proc/self");
	ck_assert_ptr_nonnull(dir);
	ck_assert_int_eq(lowest(), next);
	while (engine_readdir(dir))
		entries++;
	ck_assert_int_ge(entries, 4); /* . and .. and some more */
	ck_assert_int_eq(engine_closedir(dir), 0);
	ck_assert_ptr_null(engine_opendir("/nowhere/at/all"));
	stop_proxy();
}
END_TEST

/* A number of the engine is not valid in the program's table. */
START_TEST(writes_nowhere_else)
{
	int ends[2], fd;
	char text[8];

	if (!desk_is_open())
		return;
	fd = engine_open("/dev/null", O_WRONLY, 0);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(ends[1], fd), fd);
	ck_assert_int_eq(engine_write(fd, "x", 1), 1);
	ck_assert_int_eq(read(ends[0], text, sizeof(text)), -1);
	stop_proxy();
	ck_assert_int_eq(engine_write(fd, "x", 1), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(read(ends[0], text, sizeof(text)), -1);
	ck_assert_int_eq(engine_open("/dev/null", O_RDONLY, 0), -1);
}
END_TEST

static atomic_int written;
static int sink;

static void write_in_handler(int signo)
{
	int saved = errno;

	(void)signo;
	atomic_fetch_add(&written, engine_write(sink, "x", 1) == 1);
	errno = saved;
}

static void *ask_often(void *unused)
{
	for (int i = 0; i < 2000; i++) {
		if (engine_lseek(sink, 0, SEEK_CUR) < 0)
			return &sink;
		if (i % 10 == 0)
			pthread_kill(pthread_self(), SIGUSR1);
	}
	return unused;
}

/* Also if the thread that a handler interrupts is itself in a call of the proxy. */
START_TEST(serves_many)
{
	struct itimerval every_ms = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	pthread_t threads[3];
	void *failed;

	if (!desk_is_open())
		return;
	sink = engine_open("/dev/null", O_RDWR, 0);
	signal(SIGUSR1, write_in_handler);
	signal(SIGALRM, write_in_handler);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &every_ms, NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, NULL), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert_int_ge(atomic_load(&written), 1);
	stop_proxy();
}
END_TEST

START_TEST(a_child_has_none)
{
	int status;
	pid_t pid;

	if (!desk_is_open())
		return;
	pid = fork();
	if (!pid) {
		alarm(20);
		fd_proxy_reset_in_child();
		_exit(engine_open("/dev/null", O_RDONLY, 0) != -1 || errno != EBADF);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ge(engine_open("/dev/null", O_RDONLY, 0), 0);
	stop_proxy();
}
END_TEST

START_TEST(knows_threads_that_a_library_starts)
{
	pthread_t thread;

	if (!desk_is_open())
		return;
	ck_assert(is_here_for_others);
	ck_assert_int_eq(pthread_create(&thread, NULL, check_proxy, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(!is_here_for_others);
	stop_proxy();
}
END_TEST

START_TEST(opens_again)
{
	for (int i = 0; i < 3; i++) {
		if (!desk_is_open())
			return;
		ck_assert_int_ge(engine_open("/dev/null", O_RDONLY, 0), 0);
		stop_proxy();
		ck_assert_int_eq(engine_open("/dev/null", O_RDONLY, 0), -1);
	}
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	pthread_barrier_init(&turn, NULL, 2);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, opens_elsewhere);
	tcase_add_test(tests, lists_elsewhere);
	tcase_add_test(tests, writes_nowhere_else);
	tcase_add_test(tests, serves_many);
	tcase_add_test(tests, a_child_has_none);
	tcase_add_test(tests, knows_threads_that_a_library_starts);
	tcase_add_test(tests, opens_again);
	return suite_run(tests);
}
