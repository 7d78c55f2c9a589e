/* One thread waits in a pipe; the other one computes for SECONDS, and then unmounts /proc. Prints "ok". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void *wait_in_pipe(void *unused)
{
	char byte;

	return read(ends[0], &byte, 1) ? unused : NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct timespec start, now;
	pthread_t thread;

	if (pipe(ends) || pthread_create(&thread, NULL, wait_in_pipe, NULL))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
	       seconds);
	if (umount("/proc")) {
		perror("umount");
		return 2;
	}
	puts("ok");
	return 0;
}
