/* Computes a little, and crashes in the way of the first argument. If "handled" follows, the
 * program has its own handler. If "thread" follows, another thread crashes. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

static volatile int zero;
static char *volatile nowhere;
static const char *way;
static sigjmp_buf back;

__attribute__((noinline)) static int overflow(int depth)
{
	volatile char much[4096];

	much[0] = (char)depth;
	return depth < 0 ? 0 : overflow(depth + 1) + much[0];
}

static void bus(void)
{
	int fd = memfd_create("short", 0);
	char *page;

	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED && !ftruncate(fd, 0));
	page[0] = 1;
}

__attribute__((noinline)) static void crash_here(void)
{
	ASPROF_AGENT_LABEL("way", way);
	if (!strcmp(way, "segv"))
		*nowhere = 1;
	if (!strcmp(way, "bus"))
		bus();
	if (!strcmp(way, "ill"))
		__builtin_trap();
	if (!strcmp(way, "fpe")) {
#if defined(__x86_64__)
		zero = 7 / zero;
#else
		raise(SIGFPE); /* this processor has no fault for it */
#endif
	}
	if (!strcmp(way, "abort"))
		abort();
#if defined(__x86_64__)
	if (!strcmp(way, "trap"))
		__asm__ volatile("int3");
#endif
	if (!strcmp(way, "overflow"))
		zero = overflow(0);
	if (way[0] >= '0' && way[0] <= '9')
		raise(atoi(way));
	__asm__ volatile("");
}

static void on_crash(int signo)
{
	printf("handled %d\n", signo);
	siglongjmp(back, 1);
}

static void *in_thread(void *unused)
{
	crash_here();
	return unused;
}

static void handle(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP };
	struct sigaction action = { .sa_handler = on_crash }, before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		CHECK(!sigaction(signals[i], &action, &before));
		CHECK(before.sa_handler == SIG_DFL);
	}
}

static void compute(void)
{
	const struct timespec a_moment = { .tv_nsec = 1000000 };
	volatile unsigned int sum = 0;

	/* Wait for an engine, if there is an agent. */
	while (asprof_agent_running && !asprof_agent_running() && getenv("LD_PRELOAD"))
		nanosleep(&a_moment, NULL);
	for (unsigned int i = 0; i < 20000000; i++)
		sum += i;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	pthread_t thread;

	CHECK(argc > 1);
	way = argv[1];
	setvbuf(stdout, NULL, _IONBF, 0);
	compute();
	if (!strcmp(how, "handled")) {
		handle();
		if (!sigsetjmp(back, 1))
			crash_here();
		return 7;
	}
	if (!strcmp(how, "thread")) {
		CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
		pthread_join(thread, NULL);
	}
	crash_here();
	return 9;
}
