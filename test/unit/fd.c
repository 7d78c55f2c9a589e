/* core/fd: high descriptor numbers, and complete reads and writes. */
#include "core/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static int memory(void)
{
	int fd = fd_raise(memfd_create("test", MFD_CLOEXEC));

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(raises)
{
	int low = open("/dev/null", O_RDONLY), high = fd_raise(low);

	ck_assert_int_ge(high, FD_FLOOR);
	ck_assert_int_eq(fcntl(high, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(low, F_GETFD), -1);
	close(high);
}
END_TEST

static const int limits[] = { 16, 64, FD_FLOOR, FD_FLOOR + 1, FD_FLOOR + 3, 2 * FD_FLOOR };

/* There is space for a few at each. */
START_TEST(raises_as_far_as_the_limit_allows)
{
	struct rlimit limit = { .rlim_cur = (rlim_t)limits[_i], .rlim_max = (rlim_t)limits[_i] };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 6; i++)
		ck_assert_int_ge(fd_raise(open("/dev/null", O_RDONLY)), limits[_i] / 2);
}
END_TEST

START_TEST(passes_an_error_on)
{
	ck_assert_int_eq(fd_raise(open("/nowhere/at/all", O_RDONLY)), -ENOENT);
}
END_TEST

START_TEST(closes_what_it_cannot_raise)
{
	struct rlimit limit = { .rlim_cur = 1000, .rlim_max = 1000 };
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (fcntl(fd, F_DUPFD, FD_FLOOR) >= 0)
		;
	ck_assert_int_eq(fd_raise(fd), -EMFILE);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(writes_and_reads)
{
	int fd = memory();
	char text[8] = { 0 };

	ck_assert_int_eq(fd_write(fd, "hello", 5, -1), 0);
	ck_assert_int_eq(fd_write(fd, "J", 1, 0), 0);
	ck_assert_int_eq(fd_read(fd, text, 5, 0), 0);
	ck_assert_str_eq(text, "Jello");
	ck_assert_int_eq(fd_read(fd, text, 5, 1), -ENODATA);
	ck_assert_int_eq(fd_read(-1, text, 1, 0), -EBADF);
	ck_assert_int_eq(fd_write(-1, text, 1, 0), -EBADF);
	close(fd);
}
END_TEST

START_TEST(copies_a_part)
{
	int in = memory(), out = memory();
	char text[8] = { 0 };

	ck_assert_int_eq(fd_write(in, "0123456789", 10, 0), 0);
	ck_assert_int_eq(fd_copy(out, in, 2, 3), 0);
	ck_assert_int_eq(fd_copy(out, in, 8, 2), 0);
	ck_assert_int_eq(fd_read(out, text, 5, 0), 0);
	ck_assert_str_eq(text, "23489");
	ck_assert_int_eq(fd_copy(out, in, 8, 3), -ENODATA);
	close(in);
	close(out);
}
END_TEST

static sem_t named, may_end;
static pid_t tid;

static void *have_name(void *unused)
{
	tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "another");
	sem_post(&named);
	sem_wait(&may_end);
	return unused;
}

START_TEST(opens_what_proc_has_of_a_thread)
{
	char text[16] = "", target[64] = "", path[32];
	pthread_t thread;
	int fd;

	sem_init(&named, 0, 0);
	sem_init(&may_end, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, have_name, NULL), 0);
	sem_wait(&named);
	fd = fd_of_thread(tid, "comm", 0);
	ck_assert_int_ge(fd, FD_FLOOR);
	ck_assert_int_eq(fd_read(fd, text, 7, 0), 0);
	ck_assert_str_eq(text, "another");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_gt(readlink(path, target, sizeof(target) - 1), 0);
	snprintf(text, sizeof(text), "/%d/", getpid());
	ck_assert_msg(!strstr(target, text), "%s", target);
	close(fd);
	fd = fd_of_thread(tid, "task", O_DIRECTORY);
	ck_assert_int_ge(fd, FD_FLOOR);
	close(fd);
	sem_post(&may_end);
	pthread_join(thread, NULL);
	/* A number of another process is not used in this one. */
	ck_assert_int_eq(fd_of_thread(getppid(), "comm", 0), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, raises);
	tcase_add_loop_test(tests, raises_as_far_as_the_limit_allows, 0,
			    sizeof(limits) / sizeof(*limits));
	tcase_add_test(tests, passes_an_error_on);
	tcase_add_test(tests, closes_what_it_cannot_raise);
	tcase_add_test(tests, writes_and_reads);
	tcase_add_test(tests, copies_a_part);
	tcase_add_test(tests, opens_what_proc_has_of_a_thread);
	return suite_run(tests);
}
