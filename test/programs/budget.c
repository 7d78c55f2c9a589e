/* Work whose sampling is expensive: two functions below many frames, which share the CPU time 3 to 1, and allocations of
 * two sizes. Prints the CPU time in seconds, and the bytes that each function has allocated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile uint64_t sink;
static uint64_t bytes_small, bytes_large;

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end)
		for (int i = 0; i < 10000; i++)
			sink += (uint64_t)i;
}

__attribute__((noinline)) static void work_long(void)
{
	burn(0.003);
	sink++;
}

__attribute__((noinline)) static void work_short(void)
{
	burn(0.001);
	sink++;
}

__attribute__((noinline)) static void allocate_small(void)
{
	for (int i = 0; i < 2000; i++, bytes_small += 500)
		free(memset(malloc(500), i, 500));
	sink++;
}

__attribute__((noinline)) static void allocate_large(void)
{
	for (int i = 0; i < 300; i++, bytes_large += 10000)
		free(memset(malloc(10000), i, 10000));
	sink++;
}

__attribute__((noinline)) static void descend(int frames, int allocates)
{
	if (frames)
		descend(frames - 1, allocates);
	else if (allocates)
		allocate_small(), allocate_large();
	else
		work_long(), work_short();
	sink++;
}

/* budget FRAMES SECONDS ALLOCATES */
int main(int argc, char **argv)
{
	double end = argc > 3 ? cpu_seconds() + atof(argv[2]) : 0;

	while (cpu_seconds() < end)
		descend(atoi(argv[1]), atoi(argv[3]));
	printf("%.3f %llu %llu\n", cpu_seconds(), (unsigned long long)bytes_small,
	       (unsigned long long)bytes_large);
	return 0;
}
