/* Uses all of its address space, which has a limit (ulimit -v), computes with the rest, and ends. */
#include <stdio.h>
#include <sys/mman.h>

#include "test/programs/profiled.h"

static __attribute__((noinline)) void eat(void)
{
	for (size_t bytes = (size_t)64 << 20; bytes >= 4096; bytes /= 2)
		while (mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0) != MAP_FAILED)
			;
}

static __attribute__((noipa)) void hungry(double ms)
{
	double end = thread_cpu_ms() + ms;

	while (thread_cpu_ms() < end)
		;
}

int main(void)
{
	wait_for_agent(10000);
	eat();
	hungry(300);
	puts("eaten");
	return 0;
}
