/* Has the agent stopped and started three times, and works in between. A forked child cannot start
 * it. Ends with 3. */
#include <errno.h>
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

static int child_is_refused(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(asprof_agent_start() != -1 || errno != EPERM || asprof_agent_running());
	return waitpid(child, &status, 0) == child && !status;
}

int main(void)
{
	CHECK(asprof_agent_running != NULL);
	for (int i = 0; i < 3; i++) {
		while (!asprof_agent_running())
			usleep(1000);
		CHECK(asprof_agent_start() == -1 && errno == EALREADY);
		work(CLOCKS_PER_SEC / 10);
		CHECK(child_is_refused());
		CHECK(!asprof_agent_stop());
		CHECK(!asprof_agent_running());
		CHECK(asprof_agent_stop() == -1 && errno == ESRCH);
		CHECK(asprof_agent_flush() == -1 && errno == ESRCH);
		CHECK(!asprof_agent_start());
	}
	return 3;
}
