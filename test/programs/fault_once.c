/* Installs a handler after MILLISECONDS (its argument). After two seconds more it gets a fault, once: the same fault ends
 * the program then, by the default action. */
#include <signal.h>
#include <stdlib.h>
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

static void sleep_ms(long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left))
		;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | (int)SA_RESETHAND };

	CHECK(argc == 2);
	sleep_ms(atoi(argv[1]));
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	sleep_ms(2000);
	*nowhere = 1;
	return 1;
}
