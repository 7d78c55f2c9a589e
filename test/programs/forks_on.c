/* Does nothing but fork, which takes a while, as it has memory; when it has used some CPU time for that another process sends
 * it the signal that is its argument. */
#include <signal.h>
#include <stdatomic.h>
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

int main(int argc, char **argv)
{
	atomic_bool *ready = map(sizeof(*ready), MAP_SHARED);
	char *memory = map(BYTES, MAP_PRIVATE);

	CHECK(argc > 1);
	alarm(120);
	madvise(memory, BYTES, MADV_NOHUGEPAGE); /* a fork copies an entry for each page */
	for (size_t i = 0; i < BYTES; i += 4096)
		memory[i] = 1;
	need_agent();
	send_when(ready, atoi(argv[1]));
	*ready = true;
	forks();
}
