/* Requests a report again and again, and prints after each how many reports there are. The test
 * kills it at random times. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

static void work(clock_t ticks)
{
	clock_t until = clock() + ticks;

	while (clock() < until)
		;
}

int main(void)
{
	if (!asprof_agent_running)
		return 1;
	while (!asprof_agent_running())
		usleep(1000);
	for (int taken = 1;; taken++) {
		work(CLOCKS_PER_SEC / 100);
		if (asprof_agent_flush())
			return 1;
		printf("%d\n", taken);
		fflush(stdout);
	}
}
