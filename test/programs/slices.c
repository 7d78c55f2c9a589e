/* Compares the speed of programs with the same work under several settings, once they run. Usage:
 * slices STARTS ROUNDS REQUEST LABEL:VAR=value[,VAR=value]... -- COMMAND [ARGUMENT]...
 *
 * COMMAND is started under each setting; it answers each REQUEST, a line on its stdin, with a line.
 * In slices, one at a time and in changing order, they get work, so that a slow moment of the
 * machine affects all of them. They run on one processor, and this program on another: CPU time of
 * the agent's threads is time of theirs. All this is repeated STARTS times, because a program's
 * placement in memory changes its speed.
 *
 * Prints for each label: the median of its time for a request in microseconds; its time and CPU
 * time relative to the first label in the same round of slices, as the median over the starts of
 * the median over their rounds, and in brackets the 95% confidence interval of that median; and the
 * resident memory at the end. */
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/settings.h"

#define WARM_UP_US 2.5e6 /* of uncounted work, because a start has costs of its own */

struct instance {
	pid_t pid;
	int to;
	FILE *from;
	clockid_t cpu;
};

struct result {
	double *wall_us, *cpu_us; /* by round of the present start */
	double *us, *wall, *cpu;  /* by start; the latter two relative to the first setting */
	long resident_kb;
};

enum processor { OURS, THEIRS };
static size_t processors[2];

static size_t starts, rounds, count;
static const char *request;
static struct setting settings[SETTINGS_MAX];
static struct result results[SETTINGS_MAX];

static void die(const char *what)
{
	fprintf(stderr, "slices: %s\n", what);
	exit(1);
}

/* This thread, and its children. There may be only one processor. */
static void keep_to(enum processor which)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processors[which], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("no such processor");
}

static void find_processors(void)
{
	cpu_set_t set;
	size_t cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("more processors than can be named");
	for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++)
		;
	processors[OURS] = cpu;
	for (cpu = CPU_SETSIZE - 1; !CPU_ISSET(cpu, &set); cpu--)
		;
	processors[THEIRS] = cpu;
}

static void begin(struct instance *p, const struct setting *s, char **argv)
{
	posix_spawn_file_actions_t actions;
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		die("no pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	keep_to(THEIRS);
	if (posix_spawnp(&p->pid, argv[0], &actions, NULL, argv, (char **)s->environment) ||
	    clock_getcpuclockid(p->pid, &p->cpu))
		die("the command does not start");
	keep_to(OURS);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	p->to = to[1];
	p->from = fdopen(from[0], "r");
}

static void answer(struct instance *p)
{
	int c;

	if (write(p->to, request, strlen(request)) != (ssize_t)strlen(request))
		die("the command does not read");
	while ((c = fgetc(p->from)) != '\n')
		if (c == EOF)
			die("the command ended before its answer");
}

static void warm_up(struct instance *p)
{
	double end = clock_us(CLOCK_MONOTONIC) + WARM_UP_US;

	do
		answer(p);
	while (clock_us(CLOCK_MONOTONIC) < end);
}

static void slice(struct instance *p, double *wall_us, double *cpu_us)
{
	double wall = clock_us(CLOCK_MONOTONIC), cpu = clock_us(p->cpu);

	answer(p);
	*cpu_us = clock_us(p->cpu) - cpu;
	*wall_us = clock_us(CLOCK_MONOTONIC) - wall;
}

static long resident_kb(pid_t pid)
{
	char path[64], line[256];
	long kb = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status) && sscanf(line, "VmRSS: %ld", &kb) != 1)
		;
	if (status)
		fclose(status);
	return kb;
}

static void end(struct instance *p)
{
	int status;

	close(p->to);
	fclose(p->from);
	if (waitpid(p->pid, &status, 0) < 0 || status)
		die("the command failed");
}

/* The median over the rounds of VALUES, or of their ratio to FIRST if that is given. */
static double over_rounds(const double *values, const double *first)
{
	double *copy = calloc(rounds, sizeof(*copy)), median;

	for (size_t i = 0; i < rounds; i++)
		copy[i] = first ? values[i] / first[i] : values[i];
	median = quantile(copy, rounds, 0.5);
	free(copy);
	return median;
}

static void shuffle(size_t *order)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = (size_t)rand() % i, last = order[i - 1];

		order[i - 1] = order[j];
		order[j] = last;
	}
}

/* One instance under each setting, with all its rounds. */
static void run(size_t start, char **argv)
{
	struct instance instances[SETTINGS_MAX];
	size_t order[SETTINGS_MAX];

	for (size_t i = 0; i < count; i++) {
		size_t k = order[i] = (start + i) % count;

		begin(&instances[k], &settings[k], argv);
		warm_up(&instances[k]);
	}
	for (size_t round = 0; round < rounds; round++) {
		shuffle(order);
		for (size_t i = 0; i < count; i++)
			slice(&instances[order[i]], &results[order[i]].wall_us[round],
			      &results[order[i]].cpu_us[round]);
	}
	for (size_t k = 0; k < count; k++) {
		struct result *r = &results[k];

		r->us[start] = over_rounds(r->wall_us, NULL);
		r->wall[start] = over_rounds(r->wall_us, results->wall_us);
		r->cpu[start] = over_rounds(r->cpu_us, results->cpu_us);
		r->resident_kb = resident_kb(instances[k].pid);
		end(&instances[k]);
	}
}

/* How many of the smallest values, and of the largest, are outside the 95% confidence interval of
 * the median: each value is above or below it with equal probability. */
static size_t outside(void)
{
	double chance = 1, sum = 0;
	size_t rank = 0;

	for (size_t i = 0; i < starts; i++)
		chance /= 2;
	while ((sum += chance) <= 0.025) {
		rank++;
		chance *= (double)(starts - rank + 1) / (double)rank;
	}
	return rank ? rank - 1 : 0;
}

static void print_ratio(double *values)
{
	double median = quantile(values, starts, 0.5); /* and sorts them */
	size_t least = outside();

	printf("  %6.3f (%.3f %.3f)", median, values[least], values[starts - 1 - least]);
}

static void print(void)
{
	printf("  %-20s %12s  %-21s  %-21s  %9s\n", "", "us a slice", "times", "times the CPU time",
	       "kB");
	for (size_t k = 0; k < count; k++) {
		struct result *r = &results[k];

		printf("  %-20s %12.1f", settings[k].label, quantile(r->us, starts, 0.5));
		print_ratio(r->wall);
		print_ratio(r->cpu);
		printf("  %9ld\n", r->resident_kb);
	}
}

static void make_room(struct result *r)
{
	r->wall_us = calloc(rounds, sizeof(double));
	r->cpu_us = calloc(rounds, sizeof(double));
	r->us = calloc(starts, sizeof(double));
	r->wall = calloc(starts, sizeof(double));
	r->cpu = calloc(starts, sizeof(double));
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 7)
		return 2;
	starts = (size_t)atoi(argv[1]);
	rounds = (size_t)atoi(argv[2]);
	request = argv[3];
	for (i = 4; i < argc && strcmp(argv[i], "--") && count < SETTINGS_MAX; i++) {
		make_room(&results[count]);
		setting_read(&settings[count++], argv[i]);
	}
	if (i + 1 >= argc || !starts || !rounds)
		return 2;
	find_processors();
	for (size_t start = 0; start < starts; start++)
		run(start, argv + i + 1);
	print();
	return 0;
}
