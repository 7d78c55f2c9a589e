/* Only forks, which takes long because it has much memory, or only allocates, where malloc(3) takes
 * a lock because there is a second thread. When it has used some CPU time, another process sends it
 * a signal.
 * Usage: ends_within forks|allocates SIGNO */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

#define BYTES (48u << 20)

static void *map(size_t bytes, int flags)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static double clock_ms(clockid_t clock)
{
	struct timespec now;

	CHECK(!clock_gettime(clock, &now));
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void send_when(const atomic_bool *ready, int signo)
{
	pid_t self = getpid();
	clockid_t clock;

	if (fork())
		return;
	CHECK(!clock_getcpuclockid(self, &clock));
	while (!*ready)
		usleep(1000);
	for (double end = clock_ms(clock) + 100; clock_ms(clock) < end;)
		usleep(1000);
	kill(self, signo);
	_exit(0);
}

__attribute__((noinline)) static void forks(void)
{
	pid_t child;

	for (;;) {
		child = fork();
		if (!child)
			_exit(0);
		CHECK(waitpid(child, NULL, 0) == child);
	}
}

__attribute__((noinline)) static void allocates(void)
{
	static void *blocks[64];

	for (size_t i = 0;; i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = malloc(5000 + i * 7919 % 60000);
		CHECK(blocks[i % 64]);
	}
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	atomic_bool *ready = map(sizeof(*ready), MAP_SHARED);
	char *memory = map(BYTES, MAP_PRIVATE);
	pthread_t other;

	CHECK(argc > 2);
	alarm(120);
	madvise(memory, BYTES, MADV_NOHUGEPAGE); /* a fork copies an entry for each page */
	for (size_t i = 0; i < BYTES; i += 4096)
		memory[i] = 1;
	need_agent();
	send_when(ready, atoi(argv[2]));
	*ready = true;
	if (!strcmp(argv[1], "forks"))
		forks();
	CHECK(!pthread_create(&other, NULL, sleep_on, NULL));
	allocates();
}
