/* A thread of another process is stopped, and continues as if nothing had happened. */
#include "attach/tracing/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

#ifdef __x86_64__

static pid_t child;
static int result_pipe[2];

static void on_signal(int signo)
{
	(void)signo;
}

/* The child waits without a time limit, and writes the result. */
static void child_wait(void)
{
	struct epoll_event event;
	int result;

	signal(SIGUSR1, on_signal);
	result = epoll_wait(epoll_create1(0), &event, 1, -1) < 0 ? errno : 0;
	_exit(write(result_pipe[1], &result, sizeof(result)) != sizeof(result));
}

static void child_start(void (*run)(void))
{
	ck_assert_int_eq(pipe(result_pipe), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	_exit(1);
}

static void child_end(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(result_pipe[0]);
	close(result_pipe[1]);
}

/* Until it waits in call NUMBER. */
static void child_await(long number)
{
	struct buf text = BUF_INIT(4096);

	do {
		tracee_pause();
		buf_reset(&text);
	} while (tracee_read(child, "syscall", &text) ||
		 strtol(buf_string(&text), NULL, 10) != number);
	buf_free(&text);
}

static void child_stop(struct stopped *thread)
{
	int err;

	while ((err = tracee_stop_thread(thread, child, child)) == -ETIMEDOUT)
		waitpid(child, NULL, __WALL);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(remote_result(&thread->registers), -EINTR);
}

/* By default this signal is ignored, but a thread that is traced gets it. */
START_TEST(waits_after_an_ignored_signal)
{
	struct stopped thread;

	child_start(child_wait);
	child_await(SYS_epoll_wait);
	child_stop(&thread);
	kill(child, SIGWINCH);
	tracee_continue_thread(&thread);
	child_await(SYS_epoll_wait);
	child_stop(&thread);
	tracee_continue_thread(&thread);
	child_end();
}
END_TEST

START_TEST(wait_ends_after_a_handler)
{
	struct stopped thread;
	int result = 0;

	child_start(child_wait);
	child_await(SYS_epoll_wait);
	child_stop(&thread);
	kill(child, SIGUSR1);
	tracee_continue_thread(&thread);
	ck_assert_int_eq(read(result_pipe[0], &result, sizeof(result)), sizeof(result));
	ck_assert_int_eq(result, EINTR);
	child_end();
}
END_TEST

#endif

int main(void)
{
	TCase *tcase = tcase_create("tracee");

#ifdef __x86_64__
	tcase_add_test(tcase, waits_after_an_ignored_signal);
	tcase_add_test(tcase, wait_ends_after_a_handler);
#endif
	return suite_run(tcase);
}
