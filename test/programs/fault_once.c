/* After two seconds its handler gets a fault, once: the same fault ends it then, by the default action. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

static volatile int *const nowhere = (int *)64;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	CHECK(info->si_addr == (void *)nowhere);
	CHECK(write(STDOUT_FILENO, "handled\n", 8) == 8);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND };
	struct timespec left = { .tv_sec = 2 };

	CHECK(!sigaction(SIGSEGV, &action, NULL));
	while (nanosleep(&left, &left))
		;
	*nowhere = 1;
	return 1;
}
