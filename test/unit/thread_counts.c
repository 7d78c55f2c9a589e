/* engine/process/thread_counts and cpu_limit: counts in the kernel's files. */
#include "engine/process/thread_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/process/cpu_limit.h"
#include "test/fixtures/suite.h"

#define KEPT 99 /* a count that the file does not have */

static const struct {
	const char *name, *text;
	struct thread_counts counts;
} rows[] = {
	{ "schedstat", "123 456 7\n", { 123, 456, KEPT, KEPT, KEPT, KEPT, KEPT } },
	{ "stat",
	  "5 (a) b) S 1 2 3 4 5 6 7 8 77 10\n",
	  { KEPT, KEPT, 77, KEPT, KEPT, KEPT, KEPT } },
	{ "stat", "5 (a) S 1", { KEPT, KEPT, KEPT, KEPT, KEPT, KEPT, KEPT } },
	{ "status",
	  "Name:\tx\nvoluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t22\n",
	  { KEPT, KEPT, KEPT, 11, 22, KEPT, KEPT } },
	{ "io",
	  "rchar: 8\nwchar: 18446744073709551615\n",
	  { KEPT, KEPT, KEPT, KEPT, KEPT, 8, UINT64_MAX } },
	{ "io", "", { KEPT, KEPT, KEPT, KEPT, KEPT, KEPT, KEPT } },
};

START_TEST(files)
{
	struct thread_counts counts = { KEPT, KEPT, KEPT, KEPT, KEPT, KEPT, KEPT };

	thread_counts_parse(&counts, rows[_i].name, rows[_i].text);
	ck_assert_mem_eq(&counts, &rows[_i].counts, sizeof(counts));
}
END_TEST

START_TEST(this_thread)
{
	struct thread_counts counts = { .bytes_read = UINT64_MAX };

	ck_assert_int_eq(thread_counts_read((pid_t)syscall(SYS_gettid), &counts, true), 0);
	ck_assert_uint_eq(counts.bytes_read, UINT64_MAX);
	ck_assert_int_eq(thread_counts_read((pid_t)syscall(SYS_gettid), &counts, false), 0);
	ck_assert_uint_ne(counts.bytes_read, UINT64_MAX);
	ck_assert_int_lt(thread_counts_read(0x3fffffff, &counts, false), 0);
}
END_TEST

static _Atomic pid_t other;

static void *wait_for_pipe(void *pipe)
{
	char byte;

	other = (pid_t)syscall(SYS_gettid);
	ck_assert_int_eq(read(*(int *)pipe, &byte, 1), 1);
	return NULL;
}

START_TEST(another_thread_alone)
{
	struct thread_counts counts = { .bytes_read = UINT64_MAX };
	static char bytes[1 << 20];
	int pipes[2], zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	pthread_t thread;

	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_pipe, pipes), 0);
	while (!other)
		sched_yield();
	ck_assert_int_eq(read(zero, bytes, sizeof(bytes)), sizeof(bytes));
	ck_assert_int_eq(thread_counts_read(other, &counts, false), 0);
	ck_assert_uint_lt(counts.bytes_read, sizeof(bytes));
	ck_assert_int_eq(write(pipes[1], bytes, 1), 1);
	pthread_join(thread, NULL);
	close(zero);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

static const struct {
	const char *groups;
	int err;
	const char *path;
} groups[] = {
	{ "0::/a/b\n", 0, "/sys/fs/cgroup/a/b/cpu.stat" },
	{ "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n", 0, "/sys/fs/cgroup/cpu/c/cpu.stat" },
	{ "3:cpuset:/s\n2:cpuacct:/t\n0::/u", 0, "/sys/fs/cgroup/u/cpu.stat" },
	{ "3:cpuset:/s\n", -ENOENT, "" },
	{ "", -ENOENT, "" },
	{ "nonsense\n", -ENOENT, "" },
};

START_TEST(path_of_the_control_group)
{
	char path[128] = "";

	ck_assert_int_eq(cpu_limit_path(groups[_i].groups, path, sizeof(path)), groups[_i].err);
	ck_assert_str_eq(path, groups[_i].path);
}
END_TEST

START_TEST(throttled_time)
{
	ck_assert_uint_eq(cpu_limit_parse("nr_periods 3\nnr_throttled 2\nthrottled_time 77\n"), 77);
	ck_assert_uint_eq(cpu_limit_parse("usage_usec 5\nthrottled_usec 77\n"), 77000);
	ck_assert_uint_eq(cpu_limit_parse("usage_usec 5\n"), 0);
	ck_assert_uint_eq(cpu_limit_parse(""), 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, files, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, this_thread);
	tcase_add_test(tests, another_thread_alone);
	tcase_add_loop_test(tests, path_of_the_control_group, 0, sizeof(groups) / sizeof(*groups));
	tcase_add_test(tests, throttled_time);
	return suite_run(tests);
}
