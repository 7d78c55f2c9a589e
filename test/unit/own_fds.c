/* core/own_fds: a descriptor table that the program and the agent do not share. */
#include "core/own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/log.h"
#include "core/own_thread.h"
#include "test/fixtures/suite.h"

/* A thread of the agent: calls OTHERS_TURN after the program's function. */
static pthread_barrier_t turn;
static int (*others_turn)(void);
static int left, told;

static void *run_other(void *unused)
{
	(void)unused;
	left = own_fds_leave();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	told = others_turn();
	pthread_barrier_wait(&turn);
	return NULL;
}

/* Start it. False if it stays in this table, and that is allowed. */
static bool other_is_apart(int (*does)(void))
{
	others_turn = does;
	pthread_barrier_init(&turn, NULL, 2);
	ck_assert_int_eq(own_thread_start("other", run_other, NULL), 0);
	pthread_barrier_wait(&turn);
	if (left)
		fprintf(stderr, "own_fds: cases are left out: %s\n", strerror(-left));
	return !left;
}

/* Its result. */
static int other(void)
{
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	return told;
}

static int pipes[2];

static int looks_for_the_pipe(void)
{
	return fcntl(pipes[1], F_GETFD) < 0 ? errno : 0;
}

START_TEST(keeps_nothing_of_the_program_open)
{
	char c;

	ck_assert_int_eq(pipe(pipes), 0);
	if (!other_is_apart(looks_for_the_pipe))
		return;
	close(pipes[1]);
	ck_assert_int_eq(read(pipes[0], &c, 1), 0); /* its end, otherwise this waits for ever */
	ck_assert_int_eq(other(), EBADF);
}
END_TEST

static int opens(void)
{
	return open("/dev/null", O_RDWR);
}

START_TEST(is_not_seen_by_the_program)
{
	int next = dup(STDIN_FILENO), fd;

	close(next);
	if (!other_is_apart(opens))
		return;
	fd = other();
	ck_assert_int_gt(fd, STDERR_FILENO);
	ck_assert_int_eq(dup(STDIN_FILENO), next);
}
END_TEST

static int writes_to_standard_numbers(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (write(fd, "x", 1) >= 0 || errno != EBADF)
			return -1;
	return 0;
}

START_TEST(has_standard_numbers_that_lead_nowhere)
{
	if (other_is_apart(writes_to_standard_numbers))
		ck_assert_int_eq(other(), 0);
}
END_TEST

/* With its own table, or without, in a thread started by one that has its own. */
static _Atomic int grandchild;

static void *tell_apart(void *unused)
{
	(void)unused;
	grandchild = own_fds_apart() ? 1 : -1;
	return NULL;
}

static int starts_another(void)
{
	int err = own_thread_start("another", tell_apart, NULL);

	while (!err && !grandchild)
		usleep(1000);
	return grandchild;
}

START_TEST(hands_it_on)
{
	if (!other_is_apart(starts_another))
		return;
	ck_assert(!own_fds_apart());
	ck_assert_int_eq(other(), 1);
}
END_TEST

static int copies_the_pipe(void)
{
	return own_fds_of_program(pipes[1]);
}

static int writes_to_the_pipe(void)
{
	int fd = copies_the_pipe();

	return fd < 0 ? fd : (int)write(fd, "here", 4) + close(fd);
}

START_TEST(reaches_what_the_program_has_open)
{
	char text[8];

	ck_assert_int_eq(pipe(pipes), 0);
	if (!other_is_apart(writes_to_the_pipe))
		return;
	ck_assert_int_eq(other(), 4);
	ck_assert_int_eq(read(pipes[0], text, sizeof(text)), 4);
}
END_TEST

START_TEST(tells_that_the_program_has_it_closed)
{
	ck_assert_int_eq(pipe(pipes), 0);
	close(pipes[1]);
	if (other_is_apart(copies_the_pipe))
		ck_assert_int_eq(other(), -EBADF);
}
END_TEST

static int says(void)
{
	log_error("said");
	return 0;
}

/* Bytes that the log wrote to FILE. */
static off_t length_of(FILE *file)
{
	struct stat st;

	ck_assert_int_eq(fstat(fileno(file), &st), 0);
	return st.st_size;
}

START_TEST(logs_to_the_stderr_of_the_program)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);

	dup2(fileno(file), STDERR_FILENO);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	if (other_is_apart(says)) {
		other();
		ck_assert_int_gt(length_of(file), 0);
	}
	dup2(before, STDERR_FILENO);
	fclose(file);
}
END_TEST

START_TEST(logs_nothing_to_what_took_its_place)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);

	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	if (other_is_apart(says)) {
		dup2(fileno(file), STDERR_FILENO);
		other();
		dup2(before, STDERR_FILENO);
		ck_assert_int_eq(length_of(file), 0);
	}
	fclose(file);
}
END_TEST

START_TEST(logs_to_a_file)
{
	char path[] = "/tmp/own-fds-test-XXXXXX";
	int fd = mkstemp(path);
	struct stat st;

	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	if (other_is_apart(says)) {
		other();
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_int_gt(st.st_size, 0);
	}
	unlink(path);
	close(fd);
}
END_TEST

static struct wake agent;

static int says_what_is_kept(void)
{
	while (wake_wait(&agent, UINT64_MAX) && atomic_load(&grandchild) < 2)
		log_write_queued();
	return 0;
}

/* A thread of the program logs, and the file is only in the other table. */
START_TEST(logs_to_a_file_for_the_program)
{
	char path[] = "/tmp/own-fds-test-XXXXXX", text[256] = "";
	int fd = mkstemp(path), next = dup(fd);

	close(next);
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	log_queue_for(&agent);
	if (other_is_apart(says_what_is_kept)) {
		pthread_barrier_wait(&turn);
		log_warn("kept");
		log_warn_later("later %d", 5);
		while (!strstr(text, "later"))
			ck_assert_int_ge(pread(fd, text, sizeof(text) - 1, 0), 0);
		ck_assert_ptr_nonnull(strstr(text, ": kept\n"));
		ck_assert_ptr_nonnull(strstr(text, ": later 5\n"));
		atomic_store(&grandchild, 2);
		wake_up(&agent);
		pthread_barrier_wait(&turn);
		ck_assert_int_eq(dup(fd), next);
	}
	unlink(path);
	close(fd);
}
END_TEST

/* The call that copies a descriptor of the program kills the process, as under systemd's set for
 * services. */
static void put_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

START_TEST(leaves_under_a_filter)
{
	char text[8];

	ck_assert_int_eq(pipe(pipes), 0);
	put_filter();
	if (!other_is_apart(writes_to_the_pipe))
		return;
	ck_assert_int_eq(other(), 4);
	ck_assert_int_eq(read(pipes[0], text, sizeof(text)), 4);
}
END_TEST

START_TEST(tells_under_a_filter_that_it_is_closed)
{
	ck_assert_int_eq(pipe(pipes), 0);
	close(pipes[1]);
	put_filter();
	if (other_is_apart(copies_the_pipe))
		ck_assert_int_eq(other(), -EBADF);
}
END_TEST

/* async-profiler's thread has a third table. */
static int leaves_again(void)
{
	int fd = open("/dev/null", O_RDWR), err = own_fds_leave_for_engine();

	return err ? err : own_fds_apart() ? -EEXIST : fcntl(fd, F_GETFD) < 0 ? errno : 0;
}

START_TEST(an_engine_has_another_table)
{
	if (other_is_apart(leaves_again))
		ck_assert_int_eq(other(), EBADF);
}
END_TEST

static int says_as_an_engine(void)
{
	int err = own_fds_leave_for_engine();

	if (!err)
		log_warn("from the engine");
	return err;
}

static void *say_what_is_kept(void *agents)
{
	struct wake *wake = agents;

	own_fds_leave();
	while (wake_wait(wake, UINT64_MAX) && atomic_load(&grandchild) < 3)
		log_write_queued();
	return NULL;
}

/* The program's stderr is in neither of their tables, and one of them can reach it. */
START_TEST(logs_for_an_engine_by_the_agent)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	pthread_t thread;

	dup2(fileno(file), STDERR_FILENO);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	dup2(before, STDERR_FILENO);
	log_queue_for(&agent);
	if (other_is_apart(says_as_an_engine)) {
		dup2(fileno(file), STDERR_FILENO);
		ck_assert_int_eq(pthread_create(&thread, NULL, say_what_is_kept, &agent), 0);
		ck_assert_int_eq(other(), 0);
		while (!length_of(file))
			usleep(1000);
		atomic_store(&grandchild, 3);
		wake_up(&agent);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		dup2(before, STDERR_FILENO);
	}
	fclose(file);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("own_fds");

	tcase_add_test(tcase, keeps_nothing_of_the_program_open);
	tcase_add_test(tcase, is_not_seen_by_the_program);
	tcase_add_test(tcase, has_standard_numbers_that_lead_nowhere);
	tcase_add_test(tcase, hands_it_on);
	tcase_add_test(tcase, reaches_what_the_program_has_open);
	tcase_add_test(tcase, tells_that_the_program_has_it_closed);
	tcase_add_test(tcase, logs_to_the_stderr_of_the_program);
	tcase_add_test(tcase, logs_nothing_to_what_took_its_place);
	tcase_add_test(tcase, logs_to_a_file);
	tcase_add_test(tcase, logs_to_a_file_for_the_program);
	if (!getenv("TEST_RUNNER")) { /* an emulator accepts no filter */
		tcase_add_test(tcase, leaves_under_a_filter);
		tcase_add_test(tcase, tells_under_a_filter_that_it_is_closed);
	}
	tcase_add_test(tcase, an_engine_has_another_table);
	tcase_add_test(tcase, logs_for_an_engine_by_the_agent);
	return suite_run(tcase);
}
