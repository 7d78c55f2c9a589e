/* How long a command takes under each of several settings, taken in turn so that a busy moment of
 * the machine hits all alike. Usage: in_turn ROUNDS RUNS LABEL:VAR=value[,VAR=value]... --
 * COMMAND [ARGUMENT]... A round is RUNS runs under each setting. Prints for each label the median
 * of the rounds in microseconds a run, and its ratio to the first one's. */
#include <fcntl.h>
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

static posix_spawn_file_actions_t quiet; /* nothing to read, and nobody to read it */

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double run(char **argv, int runs, char **environment)
{
	double start = now_us();

	for (int i = 0; i < runs; i++) {
		int status;
		pid_t pid;

		if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environment) ||
		    waitpid(pid, &status, 0) < 0 || status) {
			fprintf(stderr, "in_turn: %s failed\n", argv[0]);
			exit(1);
		}
	}
	return (now_us() - start) / runs;
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

/* LABEL:VAR=value,VAR=value */
static void read_setting(struct setting *s, char *text, size_t rounds)
{
	char *variable;
	size_t n = 0;

	s->label = strsep(&text, ":");
	while (n < 15 && (variable = strsep(&text, ",")))
		s->environment[n++] = variable;
	s->us = calloc(rounds, sizeof(*s->us));
}

int main(int argc, char **argv)
{
	struct setting settings[SETTINGS_MAX] = { 0 };
	size_t count = 0, rounds;
	double first = 0;
	int runs, i;

	if (argc < 6)
		return 2;
	rounds = (size_t)atoi(argv[1]);
	runs = atoi(argv[2]);
	for (i = 3; i < argc && strcmp(argv[i], "--") && count < SETTINGS_MAX; i++)
		read_setting(&settings[count++], argv[i], rounds);
	if (i + 1 >= argc || runs < 1 || !rounds)
		return 2;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (size_t round = 0; round < rounds; round++)
		for (size_t k = 0; k < count; k++)
			settings[k].us[round] = run(argv + i + 1, runs, settings[k].environment);
	for (size_t k = 0; k < count; k++) {
		double us = median(settings[k].us, rounds);

		if (!k)
			first = us;
		printf("  %-28s %10.1f us  %6.3f times\n", settings[k].label, us, us / first);
	}
	return 0;
}
