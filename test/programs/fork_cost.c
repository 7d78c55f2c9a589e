/* Measures a fork, and a child with its end: _exit(2) at once, or another program (COMMAND, without
 * arguments). Usage: fork_cost FORKS THREADS [COMMAND]
 *
 * THREADS more threads sleep. If there is an agent, the program waits until it is profiled. Prints
 * the first quartiles in microseconds: a busy machine changes them less than medians. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/profiled.h"
#include "test/programs/settings.h"

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start_threads(int count)
{
	pthread_t thread;

	while (count-- > 0)
		if (pthread_create(&thread, NULL, sleep_on, NULL))
			exit(2);
}

int main(int argc, char **argv)
{
	size_t forks = argc > 2 ? (size_t)atol(argv[1]) : 0;
	double *fork_us = calloc(forks + 1, sizeof(*fork_us));
	double *whole_us = calloc(forks + 1, sizeof(*whole_us));
	const char *command = argc > 3 ? argv[3] : NULL;

	if (!forks || !fork_us || !whole_us)
		return 2;
	start_threads(atoi(argv[2]));
	wait_for_agent(10000);
	for (size_t i = 0; i < forks; i++) {
		double start = clock_us(CLOCK_MONOTONIC);
		pid_t pid = fork();
		int status;

		if (!pid && command)
			execl(command, command, (char *)NULL);
		if (pid <= 0)
			_exit(pid || command ? 1 : 0);
		fork_us[i] = clock_us(CLOCK_MONOTONIC) - start;
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
		whole_us[i] = clock_us(CLOCK_MONOTONIC) - start;
	}
	printf("%.1f %.1f\n", quantile(fork_us, forks, 0.25), quantile(whole_us, forks, 0.25));
	return 0;
}
