/* Executes the lines of its input, and prints when each is done:
 *
 *         flush       work for some samples, and request a report
 *         drop UID    become that user, by the C library
 *
 * Ends at the end of its input. */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

static int flush(void)
{
	clock_t until = clock() + CLOCKS_PER_SEC / 20;

	while (clock() < until)
		;
	return asprof_agent_flush();
}

static int drop(unsigned int id)
{
	return setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id);
}

int main(void)
{
	char line[64];

	if (!asprof_agent_running)
		return 1;
	while (!asprof_agent_running())
		usleep(1000);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "drop ", 5) ? drop((unsigned int)atoi(line + 5)) : flush())
			perror(line);
		printf("%s: done\n", line);
		fflush(stdout);
	}
	return 0;
}
