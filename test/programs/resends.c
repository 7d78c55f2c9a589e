/* Computes for a while. Then a handler with SA_RESETHAND sends SIGNO again, or aborts. Usage:
 * resends SIGNO [abort] */
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static bool aborts;

static void on_signal(int signo)
{
	if (aborts)
		abort();
	raise(signo);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	int signo = argc > 1 ? atoi(argv[1]) : 0;
	clock_t end;

	aborts = argc > 2;
	CHECK(!sigaction(signo, &action, NULL));
	need_agent();
	end = clock() + CLOCKS_PER_SEC / 5;
	while (clock() < end)
		;
	raise(signo);
	return 9;
}
