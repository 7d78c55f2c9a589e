/* A thread of another process is stopped, and continues as if nothing had happened. */
#include "attach/tracing/tracee.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
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

/* A worker of the kernel reads for it. */
static void child_read_by_worker(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params), ends[2];
	char *ring, byte;
	struct io_uring_sqe *entry;

	if (fd < 0 || pipe(ends))
		_exit(0);
	ring = mmap(NULL, params.sq_off.array + 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQ_RING);
	entry = mmap(NULL, sizeof(*entry), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	*entry = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
					.flags = IOSQE_ASYNC,
					.fd = ends[0],
					.addr = (uintptr_t)&byte,
					.len = 1 };
	*(unsigned *)(void *)(ring + params.sq_off.tail) = 1;
	syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0);
	pause();
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

static int stop_worker(struct tracee *tracee, pid_t tid, void *count)
{
	struct stopped thread;

	if (tid == child)
		return -EAGAIN;
	ck_assert_int_eq(tracee_stop_thread(&thread, tracee->pid, tid), -ESRCH);
	++*(int *)count;
	return -EAGAIN;
}

/* It would make no call, ever. */
START_TEST(worker_of_the_kernel_is_not_stopped)
{
	struct tracee tracee;
	int count = 0;

	child_start(child_read_by_worker);
	while (!count && tracee_thread_state(child, child) != 'Z') {
		tracee_pause();
		tracee = (struct tracee){ .pid = child };
		tracee_visit_threads(&tracee, stop_worker, &count);
	}
	if (!count)
		printf("no io_uring here\n");
	child_end();
}
END_TEST

static void child_exit(void)
{
	_exit(0);
}

static int work_never(void *unused)
{
	(void)unused;
	ck_abort();
	return 0;
}

START_TEST(zombie_has_ended)
{
	char problem[TRACEE_PROBLEM_MAX] = "";
	struct tracee tracee = { .problem = problem };
	siginfo_t end;

	child_start(child_exit);
	tracee.pid = child;
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(tracee_with_thread(&tracee, work_never, NULL), -ESRCH);
	ck_assert_str_eq(problem, "it has ended");
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
	tcase_add_test(tcase, worker_of_the_kernel_is_not_stopped);
	tcase_add_test(tcase, zombie_has_ended);
#endif
	return suite_run(tcase);
}
