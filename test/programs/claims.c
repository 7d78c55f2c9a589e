/* Handles signals once it is profiled, as libraries do that handle every signal with a name. It
 * uses BURN_MS of CPU time in before(), handles each SIGNAL, uses as much in after(), and sends
 * itself each: prints how many came. Usage: claims SIGNAL... */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/programs/profiled.h"

#define BURN_MS 400

static volatile sig_atomic_t came;

static void count(int signo)
{
	(void)signo;
	came++;
}

__attribute__((noinline)) static void burn(double ms)
{
	double end = thread_cpu_ms() + ms;

	while (thread_cpu_ms() < end)
		;
}

__attribute__((noipa)) static void before(void)
{
	burn(BURN_MS);
	__asm__ volatile("");
}

__attribute__((noipa)) static void after(void)
{
	burn(BURN_MS);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	wait_for_agent(30000);
	before();
	for (int i = 1; i < argc; i++)
		if (signal(atoi(argv[i]), count) == SIG_ERR)
			return 1;
	wait_for_agent(30000);
	after();
	for (int i = 1; i < argc; i++)
		raise(atoi(argv[i]));
	printf("%d\n", (int)came);
	return 0;
}
