/* Registers an exit handler before the agent has started an engine, and returns from main after
 * that. Ends with 3 if the agent has stopped when the handler runs, otherwise with 4. */
#include <stdlib.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

static void at_exit(void)
{
	_exit(asprof_agent_running() ? 4 : 3);
}

int main(void)
{
	if (!asprof_agent_running || asprof_agent_running() || atexit(at_exit))
		return 1;
	while (!asprof_agent_running())
		usleep(1000);
	return 0;
}
