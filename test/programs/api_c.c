/* The agent's whole C interface, in C: an example, which test/system/api.sh runs. It only needs the
 * header. Without the preload none of the functions exists; the program prints that and runs too.
 *
 *         cc -o example example.c */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

/* One iteration of an event loop, which a sample reports. */
__attribute__((noinline)) static void slow_turn(void)
{
	clock_t until = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < until)
		;
}

static void check(const char *what, int got, int wanted, int error)
{
	if (got != wanted || (got < 0 && errno != error)) {
		printf("%s: %d (%s)\n", what, got, strerror(errno));
		_exit(1);
	}
}

static void wait_until_running(void)
{
	for (int i = 0; i < 3000 && !asprof_agent_running(); i++)
		usleep(10000);
	check("running", asprof_agent_running(), 1, 0);
}

int main(void)
{
	pid_t child;
	int status;

	if (!asprof_agent_version) {
		puts("no agent");
		slow_turn();
		return 0;
	}
	printf("agent %s\n", asprof_agent_version());
	wait_until_running();
	check("start", asprof_agent_start(), -1, EALREADY);
	check("label", asprof_agent_label("route", "/pay"), 0, 0);
	check("label", asprof_agent_label("a=b", "c"), -1, EINVAL);

	/* Another setting from now on. */
	check("set", asprof_agent_set("PROFILING_GROUP", "example"), 0, 0);
	check("set", asprof_agent_set("TAGS", "color=red"), 0, 0);
	check("set what is not there", asprof_agent_set("COLOR", "red"), -1, EINVAL);
	check("set nothing", asprof_agent_set(NULL, "red"), -1, EINVAL);
	check("set to nothing", asprof_agent_set("TAGS", NULL), -1, EINVAL);
	check("set a wrong value", asprof_agent_set("LOG", "loud"), -1, EINVAL);
	check("set what cannot be", asprof_agent_set("ENGINE", "builtin"), -1, EINVAL);

	asprof_agent_poll_begin();
	slow_turn();
	asprof_agent_poll_end();
	check("flush", asprof_agent_flush(), 0, 0);

	/* Stop and start. */
	check("stop", asprof_agent_stop(), 0, 0);
	check("stopped", asprof_agent_running(), 0, 0);
	check("stop", asprof_agent_stop(), -1, ESRCH);
	check("flush", asprof_agent_flush(), -1, ESRCH);
	check("set", asprof_agent_set("TAGS", "color=blue"), -1, ESRCH);
	ASPROF_AGENT_POLL_BEGIN(); /* has no effect */
	ASPROF_AGENT_POLL_END();
	ASPROF_AGENT_LABEL("route", NULL); /* reports no error */
	check("start", asprof_agent_start(), 0, 0);
	wait_until_running();

	/* A forked child has its own profile and its own settings. */
	fflush(stdout);
	child = fork();
	if (!child) {
		wait_until_running();
		slow_turn();
		check("stop in the child", asprof_agent_stop(), 0, 0);
		return 0;
	}
	waitpid(child, &status, 0);
	check("the child", status, 0, 0);
	check("running", asprof_agent_running(), 1, 0);
	puts("done");
	return 0;
}
