/* Stops and starts the agent three times, and works in between. A forked child can start its own.
 * Ends with 3.
 *
 *   restarts delayed   stops it during the start delay, and forks at once, twenty times: no child has an agent */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

static void work(clock_t ticks)
{
	clock_t until = clock() + ticks;

	while (clock() < until)
		;
}

/* A forked child has its own agent, which may have started already; with FORK=off it has none. */
static int child_starts(void)
{
	const char *setting = getenv("ASPROF_AGENT_FORK");
	int off = setting && !strcmp(setting, "off"), status;
	pid_t child = fork();

	if (!child && off)
		_exit(asprof_agent_start() != -1 || errno != EPERM || asprof_agent_running());
	if (!child)
		_exit(asprof_agent_start() && errno != EALREADY);
	return waitpid(child, &status, 0) == child && !status;
}

static void stop_during_delay(void)
{
	pid_t children[20];
	int status;

	for (int i = 0; i < 20; i++) {
		CHECK(!asprof_agent_stop());
		children[i] = fork();
		if (!children[i]) {
			usleep(1000000);
			_exit(asprof_agent_running());
		}
		while (asprof_agent_start()) { /* its thread has not ended yet */
			CHECK(errno == EALREADY);
			usleep(100);
		}
	}
	for (int i = 0; i < 20; i++)
		CHECK(waitpid(children[i], &status, 0) == children[i] && !status);
}

int main(int argc, char **argv)
{
	CHECK(asprof_agent_running != NULL);
	if (argc > 1 && !strcmp(argv[1], "delayed")) {
		stop_during_delay();
		return 3;
	}
	for (int i = 0; i < 3; i++) {
		while (!asprof_agent_running())
			usleep(1000);
		CHECK(asprof_agent_start() == -1 && errno == EALREADY);
		work(CLOCKS_PER_SEC / 10);
		CHECK(child_starts());
		CHECK(!asprof_agent_stop());
		CHECK(!asprof_agent_running());
		CHECK(asprof_agent_stop() == -1 && errno == ESRCH);
		CHECK(asprof_agent_flush() == -1 && errno == ESRCH);
		CHECK(!asprof_agent_start());
	}
	return 3;
}
