/* Ends by exit(3) or _exit(2), the first argument, with 3, once it is profiled. SIGTERM, which
 * comes meanwhile, has its default action, or the one of the second argument: a handler that calls
 * _exit(4), abort(3), or executes a program that ends with 5. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

static const char *then = "";

static void on_term(int signo)
{
	(void)signo;
	if (!strcmp(then, "_exit"))
		_exit(4);
	else if (!strcmp(then, "abort"))
		abort();
	execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	if (argc > 2) {
		then = argv[2];
		signal(SIGTERM, on_term);
	}
	while (!asprof_agent_running || !asprof_agent_running())
		usleep(1000);
	if (!strcmp(argv[1], "_exit"))
		_exit(3);
	exit(3);
}
