/* Takes all signals in way HOW. "handlers": has a handler for each. Otherwise it blocks them, and takes them by
 * sigtimedwait(2) or a signalfd. A thread computes meanwhile. After the signalfd, the main thread unblocks them and
 * computes. Prints "ok" if no signal came. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static _Atomic bool ends;

static void compute(double ms)
{
	double end = thread_cpu_ms() + ms;

	while (thread_cpu_ms() < end)
		;
}

__attribute__((noinline)) static void hot_later(void)
{
	compute(3500);
	__asm__ volatile("");
}

static void *work(void *unused)
{
	compute(300);
	ends = true;
	return unused;
}

/* Wait for at most 20 ms. Returns 0 if no signal came. */
static int take_by_wait(const sigset_t *set)
{
	const struct timespec limit = { .tv_nsec = 20000000 };
	int signo = sigtimedwait(set, NULL, &limit);

	return signo < 0 ? 0 : signo;
}

static int take_by_descriptor(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct signalfd_siginfo info = { 0 };

	if (poll(&poll_fd, 1, 20) == 1)
		CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
	return (int)info.ssi_signo;
}

static void on_signal(int signo)
{
	(void)signo;
}

static int have_handlers(void)
{
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		signal(signo, on_signal);
	compute(500);
	puts("ok");
	return 0;
}

int main(int argc, char **argv)
{
	bool by_descriptor = argc > 1 && !strcmp(argv[1], "signalfd");
	pthread_t thread;
	sigset_t all;
	int fd, signo = 0;

	if (argc > 1 && !strcmp(argv[1], "handlers"))
		return have_handlers();
	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	fd = signalfd(-1, &all, SFD_CLOEXEC);
	CHECK(!pthread_create(&thread, NULL, work, NULL));
	while (!signo && !ends)
		signo = by_descriptor ? take_by_descriptor(fd) : take_by_wait(&all);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &all, NULL));
	if (by_descriptor) {
		hot_later();
		usleep(1500000); /* `run` recovers no samples of the last second */
	}
	if (signo)
		printf("got signal %d\n", signo);
	puts(signo ? "failed" : "ok");
	return signo;
}
