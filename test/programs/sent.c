/* Once it is profiled, another process sends it SIGIO, SIGPWR and SIGSTKFLT. It ignores each,
 * handles it, and reads it in two ways while it is blocked, and prints the results. Then it
 * computes until it gets SIGNAL, which ends it. With "early" it does not wait until it is profiled.
 * Usage: sent SIGNAL [early] */
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static volatile sig_atomic_t handled;

static void count(int signo)
{
	(void)signo;
	handled++;
}

/* By a process that ends before this returns. (Not before fork(3) has returned here, because it
 * holds locks that async-profiler needs for a last report.) */
static void send(int signo)
{
	pid_t self = getpid(), child;
	int status, ends[2];
	char byte = 0;

	CHECK(!pipe(ends));
	child = fork();
	if (!child)
		_exit(read(ends[0], &byte, 1) != 1 || kill(self, signo) ? 1 : 0);
	CHECK(write(ends[1], &byte, 1) == 1);
	while (waitpid(child, &status, 0) != child)
		CHECK(errno == EINTR);
	CHECK(!status && !close(ends[0]) && !close(ends[1]));
}

static int wait_for(const sigset_t *set)
{
	siginfo_t info;

	return sigwaitinfo(set, &info);
}

static int read_from(int fd)
{
	struct signalfd_siginfo info;

	CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
	return (int)info.ssi_signo;
}

static void try(int signo, int fd, const sigset_t *set)
{
	int waited, got;

	signal(signo, SIG_IGN);
	send(signo);
	signal(signo, count);
	handled = 0;
	send(signo);
	CHECK(signal(signo, SIG_DFL) == count);
	CHECK(!sigprocmask(SIG_BLOCK, set, NULL));
	send(signo);
	waited = wait_for(set);
	send(signo);
	got = read_from(fd);
	CHECK(!sigprocmask(SIG_UNBLOCK, set, NULL));
	printf("%d: handled %d, waited for %d, read %d\n", signo, (int)handled, waited, got);
}

__attribute__((noinline)) static void burn(void)
{
	double end = thread_cpu_ms() + 50;

	while (thread_cpu_ms() < end)
		;
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGIO, SIGPWR, SIGSTKFLT };
	bool early = argc > 2;
	int signo = atoi(argv[1]), fd;
	sigset_t set;

	alarm(120); /* the signal that it reads may never come */
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(fd >= 0);
	if (!early)
		wait_for_agent(30000);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		try(signals[i], fd, &set);
	burn();
	send(signo);
	puts("lives");
	return 3;
}
