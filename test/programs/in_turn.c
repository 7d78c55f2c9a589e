/* Measures a command under several settings, in turn, so that a busy moment of the machine affects
 * all of them. Usage: in_turn ROUNDS RUNS LABEL:VAR=value[,VAR=value]... -- COMMAND [ARGUMENT]... A
 * round is RUNS runs under each setting, in an order that rotates with each round. Prints for each
 * label: the median of its time in microseconds per run; its time and CPU time relative to the
 * first label in the same round, as the median over the rounds and, in brackets, the quartiles; its
 * minimum time relative to the first label's, which a busy machine changes least if each run does
 * the same; and the maximum resident memory. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "test/programs/settings.h"

struct turns {
	struct setting setting;
	double *wall_us, *cpu_us; /* of a run, by round */
	long resident_kb;
};

static posix_spawn_file_actions_t quiet; /* /dev/null for input and output */

static double to_us(struct timeval time)
{
	return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static void run(char **argv, int runs, struct turns *t, size_t round)
{
	double start = clock_us(CLOCK_MONOTONIC);

	for (int i = 0; i < runs; i++) {
		struct rusage usage;
		int status;
		pid_t pid;

		if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, t->setting.environment) ||
		    wait4(pid, &status, 0, &usage) < 0 || status) {
			fprintf(stderr, "in_turn: %s failed\n", argv[0]);
			exit(1);
		}
		t->cpu_us[round] += (to_us(usage.ru_utime) + to_us(usage.ru_stime)) / runs;
		if (usage.ru_maxrss > t->resident_kb)
			t->resident_kb = usage.ru_maxrss;
	}
	t->wall_us[round] = (clock_us(CLOCK_MONOTONIC) - start) / runs;
}

static void print_ratio(const double *values, const double *first, size_t count)
{
	double *ratios = calloc(count, sizeof(*ratios));

	for (size_t i = 0; i < count; i++)
		ratios[i] = values[i] / first[i];
	printf("  %6.3f (%.3f %.3f)", quantile(ratios, count, 0.5), quantile(ratios, count, 0.25),
	       quantile(ratios, count, 0.75));
	free(ratios);
}

static double least(const double *values, size_t count)
{
	double result = values[0];

	for (size_t i = 1; i < count; i++)
		result = values[i] < result ? values[i] : result;
	return result;
}

static void print(struct turns *turns, size_t count, size_t rounds)
{
	printf("  %-20s %12s  %-21s  %-21s  %6s %9s\n", "", "us", "times", "times the CPU time",
	       "least", "kB");
	for (struct turns *t = turns; t < turns + count; t++) {
		double *sorted = calloc(rounds, sizeof(*sorted));

		memcpy(sorted, t->wall_us, rounds * sizeof(*sorted));
		printf("  %-20s %12.1f", t->setting.label, quantile(sorted, rounds, 0.5));
		print_ratio(t->wall_us, turns->wall_us, rounds);
		print_ratio(t->cpu_us, turns->cpu_us, rounds);
		printf("  %6.3f %9ld\n", least(t->wall_us, rounds) / least(turns->wall_us, rounds),
		       t->resident_kb);
		free(sorted);
	}
}

static void begin(struct turns *t, char *text, size_t rounds)
{
	setting_read(&t->setting, text);
	t->wall_us = calloc(rounds, sizeof(*t->wall_us));
	t->cpu_us = calloc(rounds, sizeof(*t->cpu_us));
}

int main(int argc, char **argv)
{
	struct turns turns[SETTINGS_MAX] = { 0 };
	size_t count = 0, rounds;
	int runs, i;

	if (argc < 6)
		return 2;
	rounds = (size_t)atoi(argv[1]);
	runs = atoi(argv[2]);
	for (i = 3; i < argc && strcmp(argv[i], "--") && count < SETTINGS_MAX; i++)
		begin(&turns[count++], argv[i], rounds);
	if (i + 1 >= argc || runs < 1 || !rounds)
		return 2;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (size_t round = 0; round < rounds; round++)
		for (size_t k = 0; k < count; k++)
			run(argv + i + 1, runs, &turns[(round + k) % count], round);
	print(turns, count, rounds);
	return 0;
}
