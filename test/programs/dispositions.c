/* A program's view of its signals when it is profiled, and after it has reset all of them. Prints
 * each signal without its default action, as "signal NUMBER", and "another" if the kernel then has
 * another handler of SIGSEGV than before. */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "test/programs/profiled.h"

static void *kernels_handler(int signo)
{
	void *action[4] = { NULL };

	if (syscall(SYS_rt_sigaction, signo, NULL, action, 8))
		perror("rt_sigaction");
	return action[0];
}

static void look(void)
{
	struct sigaction action;

	for (int signo = 1; signo <= SIGRTMAX; signo++)
		if (!sigaction(signo, NULL, &action) && action.sa_handler != SIG_DFL)
			printf("signal %d\n", signo);
}

int main(void)
{
	void *handler;

	if (!wait_for_agent(30000))
		return 1;
	look();
	handler = kernels_handler(SIGSEGV);
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		signal(signo, SIG_DFL);
	look();
	if (kernels_handler(SIGSEGV) != handler)
		puts("another");
	return 0;
}
