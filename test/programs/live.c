/* Holds MEGABYTES (its argument) in blocks of 1 KiB, in hold(), and computes in spin() for a tenth
 * of the time, until it is killed; prints "ready" before. A thread waits meanwhile, in wait_here(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 1024

static void **blocks;

__attribute__((noinline)) static void hold(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		blocks[i] = malloc(BLOCK);
		memset(blocks[i], 1, BLOCK);
	}
}

__attribute__((noinline)) static void spin(void)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec - end.tv_nsec < 10000000);
}

__attribute__((noinline)) static void *wait_here(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? (size_t)atoi(argv[1]) * (1 << 20) / BLOCK : 0;
	pthread_t thread;

	/* After the start of the sampling. */
	usleep(300000);
	blocks = calloc(count + 1, sizeof(*blocks));
	hold(count);
	pthread_create(&thread, NULL, wait_here, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		spin();
		usleep(90000);
	}
}
