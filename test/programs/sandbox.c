/* Works, enters a seccomp sandbox in the way of its first argument, with only write, exit, return from
 * a handler, ppoll and pselect6 allowed, waits and works there in inside(), and ends as its second argument says.
 * "asks" enters no sandbox, but checks whether there is seccomp. */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/filter.h"

static struct sock_filter filter[] = {
	LOAD_NUMBER,
	ON_CALL(SYS_write, SECCOMP_RET_ALLOW),
	ON_CALL(SYS_exit_group, SECCOMP_RET_ALLOW),
	ON_CALL(SYS_rt_sigreturn, SECCOMP_RET_ALLOW),
	ON_CALL(SYS_pselect6, SECCOMP_RET_ALLOW),
	ON_CALL(SYS_ppoll, SECCOMP_RET_ALLOW),
	OTHERWISE(SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

/* By a clock that needs no system call. */
static void work(long ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &start);
	do
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void enter(const char *how)
{
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!strcmp(how, "asks"))
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) && errno == EFAULT &&
		      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) && errno == EFAULT);
	else if (!strcmp(how, "prctl"))
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else if (!strcmp(how, "threads"))
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			       &program));
	else
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

/* As an event loop that waits at an epoll does for an answer. */
static void wait_ready(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct pollfd one = { .fd = -1, .events = POLLIN };
	fd_set none;

	FD_ZERO(&none);
	CHECK(!ppoll(&one, 1, &moment, NULL));
	CHECK(!pselect(1, &none, NULL, NULL, &moment, NULL));
}

void inside(void);

/* The mask is the first word of the last argument. */
__attribute__((noinline)) void inside(void)
{
	static uint64_t mask;
	uintptr_t pair[] = { (uintptr_t)&mask, sizeof(mask) };
	struct timespec moment = { .tv_nsec = 1000000 };

	CHECK(!syscall(SYS_pselect6, 0, NULL, NULL, NULL, &moment, pair));
	wait_ready();
	work(300);
	atomic_signal_fence(memory_order_seq_cst); /* a call, not a jump */
}

static void on_signal(int signo)
{
	(void)signo;
}

/* Of sizes that the C library has without a system call, if it was called before. */
static void allocate(void)
{
	for (int i = 0; i < 10000; i++) {
		void *volatile block = malloc(100);

		CHECK(block);
		free(block);
	}
}

/* Its parent is not in the sandbox. It sends a signal twice, whose handler runs on a stack of the program: during a
 * wait, and after it. Then it kills the child. */
static int be_killed(const char *how)
{
	static char memory[1 << 16];
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct timespec minute = { .tv_sec = 60 };
	pid_t parent = getpid(), pid;
	int status;

	CHECK(!sigaction(SIGINT, &action, NULL));
	pid = fork();
	if (!pid) {
		CHECK(!sigaltstack(&(stack_t){ .ss_sp = memory, .ss_size = sizeof(memory) }, NULL));
		allocate();
		enter(how);
		allocate();
		CHECK(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &minute, NULL) == -1 &&
		      errno == EINTR);
		for (;;)
			work(1000);
	}
	for (int i = 0; i < 2; i++) {
		work(i ? 100 : 300);
		CHECK(getpid() == parent && !kill(pid, SIGINT));
	}
	work(100);
	CHECK(!kill(pid, SIGTERM) && waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	CHECK(argc == 3 && epoll >= 0);
	work(300);
	CHECK(!epoll_wait(epoll, &event, 1, 1));
	if (!strcmp(argv[2], "killed"))
		return be_killed(argv[1]);
	enter(argv[1]);
	inside();
	if (write(STDOUT_FILENO, "worked\n", 7) == 7 && !strcmp(argv[2], "_exit"))
		_exit(3);
	return 4;
}
