/* A disk that blocks: each read at an offset of a file takes from 20 to 200 ms, one after the
 * other. Writes to the file SLOW_DISK_SAYS how many microseconds it took. For LD_PRELOAD, after the
 * agent's. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* nginx removes its environment. */
static int said = -1, count = 1;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SLOW_DISK_SAYS"), *reads = getenv("SLOW_DISK_COUNT");

	if (path)
		said = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	count = reads ? atoi(reads) : 1;
}

typedef ssize_t pread_function(int fd, void *data, size_t size, off_t offset);

static void wait_for_disk(void)
{
	static int reads;
	struct timespec before, after, time = { 0 };

	time.tv_nsec = 20000000 + 180000000L * (reads % count) / (count > 1 ? count - 1 : 1);
	reads++;
	clock_gettime(CLOCK_MONOTONIC, &before);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	dprintf(said, "%ld pread\n",
		(after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000);
}

ssize_t pread64(int fd, void *data, size_t size, off_t offset)
{
	pread_function *real = (pread_function *)dlsym(RTLD_NEXT, "pread64");

	if (said >= 0)
		wait_for_disk();
	return real(fd, data, size, offset);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
	return pread64(fd, data, size, offset);
}
