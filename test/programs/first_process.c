/* The first process of a namespace. Sleeps and computes until a line comes on its input, then prints whether SIGTERM
 * arrived: the kernel does not deliver it to such a process without a handler. The argument "handler" installs a handler
 * that ends the process, and "slow" one that takes its time. "waits" and "reads" block the signal, and receive it by
 * sigwait(3) or from a descriptor. */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

static volatile sig_atomic_t asked;

static void on_term(int signo)
{
	asked = signo;
}

static void compute(void)
{
	volatile unsigned int sum = 0;

	for (unsigned int i = 0; i < 3000000; i++)
		sum += i;
}

__attribute__((noinline)) static void computes(void)
{
	compute();
	atomic_signal_fence(memory_order_seq_cst); /* this is no tail call */
}

/* Until it is killed. */
__attribute__((noinline)) static void goes_on(void)
{
	const struct timespec a_moment = { .tv_nsec = 20000000 };

	for (;;) {
		compute();
		nanosleep(&a_moment, NULL);
	}
}

/* There is input. */
static bool is_told(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0;
}

static bool child_dies(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		raise(SIGTERM);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

/* It computes until the signal is pending. */
static void take(bool by_descriptor)
{
	struct signalfd_siginfo info;
	int signo = 0, fd;
	sigset_t set, there;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(fd >= 0);
	puts("ready");
	do
		computes();
	while (!sigpending(&there) && !sigismember(&there, SIGTERM));
	if (by_descriptor)
		CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGTERM);
	else
		CHECK(!sigwait(&set, &signo) && signo == SIGTERM);
	goes_on();
}

int main(int argc, char **argv)
{
	const struct timespec a_moment = { .tv_nsec = 2000000 };
	bool slow = argc > 1 && !strcmp(argv[1], "slow");
	bool handles = slow || (argc > 1 && !strcmp(argv[1], "handler"));
	struct sigaction now;
	int interrupted = 0;

	CHECK(getpid() == 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && (!strcmp(argv[1], "waits") || !strcmp(argv[1], "reads")))
		take(!strcmp(argv[1], "reads"));
	if (handles)
		signal(SIGTERM, on_term);
	puts("ready");
	while ((handles || !is_told()) && !asked) {
		computes();
		interrupted += nanosleep(&a_moment, NULL) && !asked;
	}
	if (asked && slow)
		goes_on();
	if (asked)
		return 3;
	CHECK(!raise(SIGTERM));
	CHECK(!sigaction(SIGTERM, NULL, &now));
	printf("interrupted %d, default %d, child dies %d\n", interrupted,
	       now.sa_handler == SIG_DFL, child_dies());
	goes_on();
}
