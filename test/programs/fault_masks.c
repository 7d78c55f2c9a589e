/* Handles its own faults for two seconds, as collectors of garbage do: handlers run with the signals blocked that they
 * were installed with, and on the thread's own stack. Ends with "done". */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

static volatile char *page;
static volatile int handled;
static uintptr_t stack; /* an address on the stack of the thread that faults */

static void check_handler(int signo, bool blocks_two)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	sigset_t blocked;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	CHECK(sigismember(&blocked, SIGUSR1));
	CHECK(sigismember(&blocked, SIGUSR2) == blocks_two);
	CHECK(sigismember(&blocked, signo));
	CHECK(here < stack && stack - here < (1 << 16));
	handled++;
}

static void on_write(int signo, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(info->si_addr == page);
	check_handler(signo, true);
	mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE);
}

static void on_trap(int signo)
{
	check_handler(signo, false);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void *fault_often(void *unused)
{
	int64_t end = now_ns() + 2000000000;
	int wanted = 0;

	stack = (uintptr_t)__builtin_frame_address(0);
	while (now_ns() < end) {
		mprotect((void *)page, PAGE, PROT_READ);
		*page = 1;
		raise(SIGTRAP);
		wanted += 2;
		CHECK(handled == wanted);
	}
	return unused;
}

int main(void)
{
	struct sigaction write_action = { .sa_sigaction = on_write, .sa_flags = SA_SIGINFO };
	struct sigaction trap_action = { .sa_handler = on_trap };
	pthread_t thread;

	sigaddset(&write_action.sa_mask, SIGUSR1);
	sigaddset(&write_action.sa_mask, SIGUSR2);
	sigaddset(&trap_action.sa_mask, SIGUSR1);
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK(!sigaction(SIGSEGV, &write_action, NULL));
	CHECK(!sigaction(SIGTRAP, &trap_action, NULL));
	CHECK(!pthread_create(&thread, NULL, fault_often, NULL));
	CHECK(!pthread_join(thread, NULL));
	puts("done");
	return 0;
}
