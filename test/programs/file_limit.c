/* Computes, with a limit for file sizes: first one that is too small for any recording, then a
 * larger one. Prints "ok". */
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static void on_limit(int signo)
{
	(void)signo;
	CHECK(!"SIGXFSZ");
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

static void compute(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (clock() < end)
		;
}

int main(void)
{
	signal(SIGXFSZ, on_limit);
	need_agent();
	limit_files(2048);
	for (int i = 0; i < 3; i++) {
		compute();
		CHECK(!asprof_agent_flush());
	}
	limit_files(RLIM_INFINITY);
	for (int i = 0; i < 3; i++) {
		compute();
		CHECK(!asprof_agent_flush());
	}
	CHECK(asprof_agent_running());
	puts("ok");
	return 0;
}
