/* Uses signal NUMBER without a handler, in way HOW. Computes meanwhile. Prints "ok". */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static void compute(double ms)
{
	double end = thread_cpu_ms() + ms;

	while (thread_cpu_ms() < end)
		;
}

static void *compute_in_thread(void *unused)
{
	compute(500);
	return unused;
}

/* Sends the signal while the main thread waits. */
static void *send_later(void *signo)
{
	compute(100);
	CHECK(!kill(getpid(), *(int *)signo));
	return NULL;
}

static int take(const sigset_t *set, const char *how)
{
	const struct timespec limit = { .tv_sec = 20 };
	struct signalfd_siginfo info = { 0 };
	siginfo_t more;
	int signo = 0, fd;

	if (!strcmp(how, "sigwait") || !strcmp(how, "later") || !strcmp(how, "later, all"))
		CHECK(!sigwait(set, &signo));
	else if (!strcmp(how, "sigtimedwait") || !strcmp(how, "all"))
		signo = sigtimedwait(set, &more, &limit);
	else if (!strcmp(how, "signalfd")) {
		fd = signalfd(-1, set, SFD_CLOEXEC);
		CHECK(fd >= 0 && read(fd, &info, sizeof(info)) == sizeof(info));
		signo = (int)info.ssi_signo;
	}
	return signo;
}

int main(int argc, char **argv)
{
	int signo = atoi(argv[1]);
	const char *how = argv[2];
	sigset_t set, blocked;
	pthread_t thread;

	CHECK(argc == 3);
	sigemptyset(&set);
	sigaddset(&set, signo);
	blocked = set;
	if (strstr(how, "all")) /* like programs that handle their signals in one place */
		sigfillset(&blocked);
	if (!strcmp(how, "later, all"))
		set = blocked;
	if (!strcmp(how, "ignored"))
		signal(signo, SIG_IGN);
	else if (strcmp(how, "default") != 0)
		CHECK(!sigprocmask(SIG_BLOCK, &blocked, NULL));
	if (!strcmp(how, "all"))
		CHECK(!pthread_create(&thread, NULL, compute_in_thread, NULL));
	wait_for_agent(30000);
	if (!strncmp(how, "later", 5)) {
		CHECK(!pthread_create(&thread, NULL, send_later, &signo));
	} else {
		compute(50);
		CHECK(!kill(getpid(), signo));
		compute(50);
	}
	if (strcmp(how, "ignored") != 0 && strcmp(how, "default") != 0)
		CHECK(take(&set, how) == signo);
	if (!strncmp(how, "later", 5))
		CHECK(!pthread_join(thread, NULL));
	if (!strcmp(how, "all")) { /* also after the engine has stopped */
		CHECK(!kill(getpid(), signo) && take(&set, how) == signo);
		CHECK(!pthread_join(thread, NULL));
	}
	puts("ok");
}
