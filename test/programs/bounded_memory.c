/* Many threads with many different stacks, which also allocate; the largest resident size.
 *
 * Usage: bounded_memory THREADS STACKS FILE
 *
 * Each thread walks STACKS random paths, 60 deep, and keeps a block from each. Prints the number of paths. Writes the
 * process's peak resident size in KiB to FILE. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/programs/profiled.h"
#include "test/programs/random_path.h"

#define DEPTH      60
#define PATH_MS    0.5
#define STACK_SIZE ((size_t)256 << 10)

static int stacks;
static _Atomic unsigned paths;

__attribute__((noinline)) static void at_the_end(void)
{
	double end = thread_cpu_ms() + PATH_MS;
	void *volatile kept = malloc(64);

	(void)kept;
	while (thread_cpu_ms() < end)
		;
	paths++;
}

static void *run(void *argument)
{
	uint32_t seed = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < stacks; i++)
		walk(&seed, DEPTH);
	return NULL;
}

static long peak_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmHWM:", 6))
			kib = strtol(line + 6, NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)count + 1, sizeof(*threads));
	pthread_attr_t attributes;
	FILE *out;

	stacks = argc > 3 ? atoi(argv[2]) : 0;
	wait_for_agent(30000);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (int i = 0; threads && i < count; i++)
		if (pthread_create(&threads[i], &attributes, run, (void *)(uintptr_t)(i * 977 + 1)))
			return 2;
	for (int i = 0; threads && i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%u paths\n", paths);
	out = argc > 3 ? fopen(argv[3], "we") : NULL;
	if (!out || fprintf(out, "%ld\n", peak_kib()) < 0 || fclose(out))
		return 3;
	return 0;
}
