/* upload/aws/process.c: a helper's output is read, and the program and the helper do not affect
 * each other. */
#include "upload/aws/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define LONG_MS 60000

static struct environment environment;
static struct buf out = BUF_INIT(65536);

static void setup(void)
{
	static char *const entries[] = { "PATH=/usr/bin:/bin", "LD_PRELOAD=/nonexistent",
					 "ASPROF_AGENT_LOG=debug", "KEPT=1", NULL };

	environment.entries = entries;
}

static const char *text(void)
{
	return buf_string(&out) ? buf_string(&out) : "";
}

static const struct {
	const char *command, *output;
	int err;
} commands[] = {
	{ "echo a; echo b >&2", "a\n", 0 },
	{ "echo a; exit 3", "a\n", -ECHILD },
	{ "kill -9 $$", "", -ECHILD },
	{ "/nonexistent", "", -ECHILD },
	{ "read line; echo \"$line.\"", ".\n", 0 },
	{ "echo \"$KEPT$LD_PRELOAD$ASPROF_AGENT_LOG\"", "1\n", 0 },
};

START_TEST(reads_what_is_printed)
{
	ck_assert_int_eq(process_read(commands[_i].command, &environment, LONG_MS, NULL, &out),
			 commands[_i].err);
	ck_assert_str_eq(text(), commands[_i].output);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* Process that ran a handler that was installed in this process. */
static struct {
	atomic_int here, elsewhere;
	atomic_bool done;
} * handled;
static pid_t ours;

static void handle(int signal)
{
	(void)signal;
	atomic_fetch_add((pid_t)syscall(SYS_getpid) == ours ? &handled->here : &handled->elsewhere,
			 1);
}

/* The memory is the program's until the helper has executed its program, so a handler would see it,
 * and change it. A signal without a default effect, sent to the group again and again, is pending
 * at the moment when it is unblocked. */
START_TEST(handlers_of_the_program_do_not_run_in_it)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	sigset_t mask;
	pid_t sender;

	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ck_assert_ptr_ne(handled, MAP_FAILED);
	ours = (pid_t)syscall(SYS_getpid);
	ck_assert_int_eq(setpgid(0, 0), 0);
	sender = fork();
	if (!sender) {
		while (!handled->done)
			kill(0, SIGWINCH);
		_exit(0);
	}
	ck_assert_int_eq(sigaction(SIGWINCH, &action, NULL), 0);
	sigfillset(&mask); /* as in the agent's threads */
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(process_read("exec true", &environment, LONG_MS, NULL, &out), 0);
	sigemptyset(&mask);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
	handled->done = true;
	ck_assert_int_eq(waitpid(sender, NULL, 0), sender);
	ck_assert_int_ge(handled->here, 1); /* they did come */
	ck_assert_int_eq(handled->elsewhere, 0);
}
END_TEST

/* Signals that the program ignores or blocks are neither for its helper. */
START_TEST(signals_are_as_at_a_login)
{
	ck_assert_ptr_ne(signal(SIGCHLD, SIG_IGN), SIG_ERR);
	ck_assert_ptr_ne(signal(SIGPIPE, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(process_read("grep -E 'Sig(Ign|Blk)' /proc/self/status", &environment,
				      LONG_MS, NULL, &out),
			 0);
	ck_assert_str_eq(text(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	ck_assert_int_eq(process_read("exit 3", &environment, LONG_MS, NULL, &out), -ECHILD);
}
END_TEST

START_TEST(no_descriptor_of_the_program_is_open)
{
	int fd = open("/dev/null", O_RDONLY); /* not closed on exec */

	ck_assert_int_ge(fd, 3);
	ck_assert_int_eq(
		process_read("cd /proc/self/fd && echo *", &environment, LONG_MS, NULL, &out), 0);
	/* The third is of the directory that is read. */
	ck_assert_msg(!strcmp(text(), "0 1 2\n") || !strcmp(text(), "0 1 2 3\n"), "%s", text());
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	close(fd);
}
END_TEST

static bool is_alive(pid_t pid)
{
	char path[64], state = 'X';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	fclose(file);
	return state != 'Z' && state != 'X';
}

static void expect_end(pid_t pid)
{
	ck_assert_int_gt(pid, 0);
	for (int i = 0; i < 2000 && is_alive(pid); i++)
		usleep(10000);
	ck_assert(!is_alive(pid));
}

#define LASTING "sleep 300 & echo $!; wait"

/* The helper and its children end when GIVE_UP has given it so many milliseconds; more on a machine
 * so busy that it had not started. */
static void expect_killed(void (*give_up)(int ms))
{
	for (int ms = 300; !atoi(text()) && ms < LONG_MS; ms *= 4) {
		buf_reset(&out);
		give_up(ms);
	}
	expect_end(atoi(text()));
}

static void when_it_takes_too_long(int ms)
{
	ck_assert_int_eq(process_read(LASTING, &environment, (uint64_t)ms, NULL, &out), -ETIMEDOUT);
}

static atomic_bool stop;

static void *stop_it(void *ms)
{
	usleep((unsigned)*(int *)ms * 1000);
	atomic_store(&stop, true);
	return NULL;
}

static void when_nobody_waits_any_more(int ms)
{
	uint64_t began = clock_monotonic_ns();
	pthread_t thread;

	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, stop_it, &ms), 0);
	ck_assert_int_eq(process_read(LASTING, &environment, LONG_MS, &stop, &out), -ECANCELED);
	ck_assert_uint_lt(clock_monotonic_ns() - began, 30000000000u);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(is_killed)
{
	expect_killed(_i ? when_nobody_waits_any_more : when_it_takes_too_long);
}
END_TEST

static void *run_lasting(void *argument)
{
	char command[64];

	snprintf(command, sizeof(command), "echo $$ >%s; exec sleep 300", (char *)argument);
	process_read(command, &environment, LONG_MS, NULL, &out);
	return NULL;
}

/* Neither the helper, nor the process in between that has the program's memory. */
START_TEST(it_ends_with_the_program)
{
	char path[] = "/tmp/asprof-process-XXXXXX", name[32] = "";
	int fd = mkstemp(path), status;
	pid_t program = fork();
	pthread_t thread;

	if (!program) {
		pthread_create(&thread, NULL, run_lasting, path);
		for (int i = 0; i < 2000 && read(fd, name, sizeof(name) - 1) <= 0; i++)
			usleep(10000);
		_exit(name[0] ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(program, &status, 0), program);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(pread(fd, name, sizeof(name) - 1, 0), 0);
	expect_end(atoi(name));
	close(fd);
	unlink(path);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("process");

	/* The thread sanitizer does not survive a clone(2) with shared memory, and an emulator has
	 * none. */
	if (THREAD_SANITIZED || getenv("TEST_RUNNER")) {
		puts("no clone(2) in its own memory here");
		return 77;
	}
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, reads_what_is_printed, 0,
			    sizeof(commands) / sizeof(commands[0]));
	tcase_add_test(tcase, handlers_of_the_program_do_not_run_in_it);
	tcase_add_test(tcase, signals_are_as_at_a_login);
	tcase_add_test(tcase, no_descriptor_of_the_program_is_open);
	tcase_add_loop_test(tcase, is_killed, 0, 2);
	tcase_add_test(tcase, it_ends_with_the_program);
	tcase_set_timeout(tcase, 60);
	return suite_run(tcase);
}
