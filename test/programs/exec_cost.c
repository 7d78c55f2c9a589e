/* What an exec costs under each of several settings, taken in turn so that a busy moment of the
 * machine hits all alike. Usage: exec_cost ROUNDS PROGRAM [LABEL:VAR=value[,VAR=value]...]...
 * Prints for each label the median in microseconds, and its ratio to the first one's. */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define SETTINGS_MAX 8
#define BATCH        10

struct setting {
	char *label;
	char *environment[16];
	double *us;
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double run(char *program, char **environment)
{
	char *argv[] = { program, NULL };
	double start = now_us();

	for (int i = 0; i < BATCH; i++) {
		int status;
		pid_t pid;

		if (posix_spawn(&pid, program, NULL, NULL, argv, environment) ||
		    waitpid(pid, &status, 0) < 0 || status) {
			fprintf(stderr, "exec_cost: %s failed\n", program);
			exit(1);
		}
	}
	return (now_us() - start) / BATCH;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	struct setting settings[SETTINGS_MAX] = { 0 };
	size_t count = 0, rounds;
	double first = 0;

	if (argc < 4 || argc - 3 > SETTINGS_MAX)
		return 2;
	rounds = (size_t)atoi(argv[1]);
	for (int i = 3; i < argc; i++) {
		struct setting *s = &settings[count++];
		char *rest = argv[i], *variable;
		size_t n = 0;

		s->label = strsep(&rest, ":");
		while (n < 15 && (variable = strsep(&rest, ",")))
			s->environment[n++] = variable;
		s->us = calloc(rounds, sizeof(*s->us));
	}
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			settings[i].us[round] = run(argv[2], settings[i].environment);
	for (size_t i = 0; i < count; i++) {
		double us = median(settings[i].us, rounds);

		if (!i)
			first = us;
		printf("  %-28s %8.1f us  %6.3f times\n", settings[i].label, us, us / first);
	}
	return 0;
}
