/* Very many forks: THREADS threads fork RATE times a second together, for SECONDS. The children end
 * at once, execute a program, sleep, compute, or make a child and a thread; each must end as it
 * should. The forks are timed. Usage: storm THREADS RATE SECONDS
 *
 * Prints the number of forks, and their median in microseconds. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/settings.h"

/* A child that has not ended after this time hangs. */
#define HUNG_S 120

#define TIMES_MAX 65536

static double times_us[TIMES_MAX], ends_us;
static atomic_size_t forks;
static double pause_us; /* of each thread, from one fork to the next */

static void fail(const char *what, int status)
{
	fprintf(stderr, "%s: %x, %s\n", what, (unsigned)status, strerror(errno));
	_exit(9);
}

static void *allocate(void *unused)
{
	for (int i = 0; i < 100; i++)
		free(malloc((size_t)i * 100 + 1));
	return unused;
}

static void burn(void)
{
	double end = clock_us(CLOCK_PROCESS_CPUTIME_ID) + 5000;

	while (clock_us(CLOCK_PROCESS_CPUTIME_ID) < end)
		allocate(NULL);
}

static void have_family(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	if (pthread_create(&thread, NULL, allocate, NULL) || pthread_join(thread, NULL))
		_exit(8);
	pid = fork();
	if (!pid)
		_exit(3);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 3 << 8)
		_exit(8);
}

static void live(size_t number)
{
	static const struct timespec moment = { .tv_nsec = 30000000 };

	switch (number % 8) {
	case 0:
		burn();
		break;
	case 1:
		nanosleep(&moment, NULL);
		break;
	case 2:
		have_family();
		break;
	case 3:
	case 4:
		execl("/bin/true", "true", (char *)NULL);
		_exit(8);
	case 5:
		raise(SIGTERM);
		_exit(8);
	}
	_exit(0);
}

static pid_t wait_for(pid_t pid, int *status)
{
	double end = clock_us(CLOCK_MONOTONIC) + HUNG_S * 1e6;
	struct timespec step = { .tv_nsec = 200000 };
	pid_t got;

	while (!(got = waitpid(pid, status, WNOHANG)) && clock_us(CLOCK_MONOTONIC) < end) {
		nanosleep(&step, NULL);
		if (step.tv_nsec < 10000000)
			step.tv_nsec *= 2;
	}
	return got;
}

static void one_fork(void)
{
	size_t number = atomic_fetch_add(&forks, 1);
	double start = clock_us(CLOCK_MONOTONIC);
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		live(number);
	if (number < TIMES_MAX)
		times_us[number] = clock_us(CLOCK_MONOTONIC) - start;
	if (pid < 0)
		fail("fork", 0);
	if (wait_for(pid, &status) != pid)
		fail("a child hangs", (int)(number % 8));
	if (status != (number % 8 == 5 ? SIGTERM : 0))
		fail("a child's status", status);
}

static void *storm(void *unused)
{
	double next = clock_us(CLOCK_MONOTONIC), now;

	while ((now = clock_us(CLOCK_MONOTONIC)) < ends_us) {
		if (now < next) {
			usleep((useconds_t)(next - now));
			continue;
		}
		one_fork();
		allocate(NULL);
		next += pause_us;
	}
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc == 4 ? atoi(argv[1]) : 0;
	pthread_t *all = calloc((size_t)threads + 1, sizeof(*all));
	size_t timed;

	if (threads <= 0 || !all || atof(argv[2]) <= 0)
		return 2;
	pause_us = 1e6 * threads / atof(argv[2]);
	ends_us = clock_us(CLOCK_MONOTONIC) + atof(argv[3]) * 1e6;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, storm, NULL))
			fail("pthread_create", 0);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	timed = forks < TIMES_MAX ? forks : TIMES_MAX;
	printf("%zu %.1f\n", (size_t)forks, timed ? quantile(times_us, timed, 0.5) : 0);
	return 0;
}
