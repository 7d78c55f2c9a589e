/* Registers an exit handler before the agent has started an engine, and returns from main once it
 * has. Ends with 3 when the agent has stopped by the time that the handler runs, else with 4. */
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
