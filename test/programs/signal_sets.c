/* Blocks every signal from its start, like programs that read signals from a descriptor or in one
 * thread, and computes. It gets the signals that it sends to itself, and no others. Prints "ok". */
#include <signal.h>
#include <sys/signalfd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static int got[64 + 1];

static void take(int fd, const sigset_t *every)
{
	const struct timespec at_once = { 0 };
	struct signalfd_siginfo info;
	int signo;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		got[info.ssi_signo]++;
	while ((signo = sigtimedwait(every, NULL, &at_once)) > 0)
		got[signo]++;
}

int main(void)
{
	static const int sent[] = { SIGTERM, SIGUSR1, SIGCHLD, SIGPROF, SIGVTALRM, SIGIO };
	sigset_t every;
	double end;
	int fd;

	sigfillset(&every);
	CHECK(!sigprocmask(SIG_BLOCK, &every, NULL));
	fd = signalfd(-1, &every, SFD_NONBLOCK | SFD_CLOEXEC);
	CHECK(fd >= 0);
	wait_for_agent(30000);
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		for (end = thread_cpu_ms() + 50; thread_cpu_ms() < end;)
			;
		CHECK(!kill(getpid(), sent[i]));
		take(fd, &every);
		CHECK(got[sent[i]]-- == 1);
	}
	for (int signo = 1; signo <= 64; signo++)
		if (got[signo])
			printf("signal %d, %d times\n", signo, got[signo]);
	puts("ok");
}
