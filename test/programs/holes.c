/* Unmaps address ranges of many sizes, and checks again and again whether other code has mapped
 * something there.
 *
 * usage: holes SECONDS REPORTS BYTES [late]   how long; how many reports it requests; the size of
 * the smallest range;
 * late: it unmaps them after the profiler has made a report
 *
 * Meanwhile it does things for which the agent needs memory: it starts threads, forks, allocates
 * and computes. It prints each range that is used, and then ends with 1. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

#define HOLES   80
#define THREADS 100

static struct hole {
	char *start;
	size_t bytes;
} holes[HOLES];

static bool is_taken;

static void *work(void *unused)
{
	void *volatile block = NULL;

	for (int i = 0; i < 300; i++) {
		free(block);
		block = malloc(4096);
	}
	free(block);
	return unused;
}

/* All of them at once, so that they have different places, with a page between two, which stays. */
static void make_holes(size_t least)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < HOLES; i++) {
		holes[i].bytes = least << i % 12;
		holes[i].start = mmap(NULL, holes[i].bytes + page, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (holes[i].start == MAP_FAILED)
			exit(2);
	}
	for (size_t i = 0; i < HOLES; i++)
		munmap(holes[i].start, holes[i].bytes);
}

static void look(const struct hole *hole)
{
	void *got = mmap(hole->start, hole->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == hole->start) {
		munmap(got, hole->bytes);
		return;
	}
	printf("%p, %zu bytes: taken\n", (void *)hole->start, hole->bytes);
	is_taken = true;
}

static void show_mappings(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		fputs(line, stdout);
	if (maps)
		fclose(maps);
}

static void look_everywhere(void)
{
	for (size_t i = 0; i < HOLES && !is_taken; i++)
		look(&holes[i]);
	if (!is_taken)
		return;
	show_mappings();
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count, char **arguments)
{
	double end = seconds() + (count > 1 ? atof(arguments[1]) : 1);
	int reports = count > 2 ? atoi(arguments[2]) : 0, status;
	int (*flush)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "asprof_agent_flush");
	pthread_t threads[THREADS];

	/* The C library keeps its mappings for these. */
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; count > 4 && flush && i < 200 && flush(); i++)
		usleep(50000);
	make_holes(count > 3 ? strtoul(arguments[3], NULL, 0) : 4096);
	while (seconds() < end) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
		work(NULL);
		look_everywhere();
		if (reports > 0 && flush) {
			flush();
			reports--;
		}
		look_everywhere();
	}
	puts("free");
	return 0;
}
