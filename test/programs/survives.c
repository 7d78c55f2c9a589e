/* Allocates and computes until it is killed, and counts its allocations in a mapped file, the first
 * argument, which outlives it. Every ten milliseconds it writes the number so far, and how long it
 * has computed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define NOTES 6000

struct book {
	_Atomic uint64_t allocated, noted; /* in total; entries of each ten milliseconds */
	uint64_t until[NOTES];
	uint64_t computed_us[NOTES]; /* CPU time of the thread */
};

static struct book *book;
static void *volatile kept;

__attribute__((noinline)) static void allocate_here(void)
{
	static const struct timespec a_moment = { .tv_nsec = 200000 };

	kept = malloc(64);
	atomic_fetch_add(&book->allocated, 1);
	free(kept);
	nanosleep(&a_moment, NULL);
}

static void *allocate(void *unused)
{
	pthread_setname_np(pthread_self(), "allocates");
	for (;;)
		allocate_here();
	return unused;
}

static void *compute(void *unused)
{
	volatile unsigned int sum = 0;

	pthread_setname_np(pthread_self(), "computes");
	for (unsigned int i = 0;; i++)
		sum += i;
	return unused;
}

int main(int argc, char **argv)
{
	struct timespec next, computed;
	pthread_t thread;
	clockid_t clock;
	int fd;

	CHECK(argc == 2);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, sizeof(*book)));
	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(book != MAP_FAILED);
	/* A thread's earlier allocations are not known later. */
	while (!asprof_agent_running || !asprof_agent_running())
		usleep(1000);
	CHECK(!pthread_create(&thread, NULL, allocate, NULL));
	CHECK(!pthread_create(&thread, NULL, compute, NULL));
	clock_gettime(CLOCK_MONOTONIC, &next);
	CHECK(!pthread_getcpuclockid(thread, &clock));
	for (uint64_t i = 0; i < NOTES; i++) {
		CHECK(!clock_gettime(clock, &computed));
		book->computed_us[i] =
			(uint64_t)computed.tv_sec * 1000000 + (uint64_t)computed.tv_nsec / 1000;
		book->until[i] = atomic_load(&book->allocated);
		atomic_store(&book->noted, i + 1);
		next.tv_nsec += 10000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0;
}
