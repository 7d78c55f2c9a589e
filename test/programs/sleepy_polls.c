/* Twelve iterations of an event loop that sleep for 120 ms; then it ends. */
#include <unistd.h>

#include "preload/asprof_agent.h"

int main(void)
{
	for (int i = 0; i < 200 && !(asprof_agent_running && asprof_agent_running()); i++)
		usleep(10000);
	for (int turn = 0; turn < 12; turn++) {
		ASPROF_AGENT_POLL_BEGIN();
		usleep(120000);
		ASPROF_AGENT_POLL_END();
	}
	return 0;
}
