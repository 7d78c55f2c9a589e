/* Threads without the C library's thread pointer, in the way of the first argument: a thread of
 * clone(2) with a pointer of its own ("own"), one with its creator's pointer and almost no stack
 * ("shared"), the main thread for a while ("switches"), or a handler in a child that shares the
 * memory ("handler"). They use nothing of the C library. Then works in work_after(), and prints
 * "ok". */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "test/programs/check.h"
#include "test/programs/profiled.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#define PAGE        4096
#define STACK_BYTES (256u << 10)
#define WORK_S      3 /* until the agent has searched for threads a few times */
#define END_MS      10000
#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

#if defined(__clang__)
#define BARE __attribute__((noinline, no_stack_protector))
#else
#define BARE __attribute__((noinline, optimize("no-stack-protector")))
#endif

static volatile bool over, has_ended, handled;
static volatile unsigned long sum;

/* A page that the thread pointer may be at; nothing is below it. */
static char *pointer_new(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && !mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE));
	return pages + PAGE;
}

static char *stack_top(size_t bytes)
{
	char *stack = mmap(NULL, PAGE + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED && !mprotect(stack + PAGE, bytes, PROT_READ | PROT_WRITE));
	return stack + PAGE + bytes;
}

BARE static int run_bare(void *unused)
{
	(void)unused;
	while (!over)
		sum++;
	has_ended = true;
	for (;;)
		kernel_call6(SYS_exit, 0, 0, 0, 0, 0, 0);
}

static void wait_a_while(void)
{
	struct timespec left = { .tv_sec = WORK_S };

	while (nanosleep(&left, &left))
		;
}

static void have_a_thread(size_t bytes, int flags, void *pointer)
{
	CHECK(clone(run_bare, stack_top(bytes), THREAD_FLAGS | flags, NULL, NULL, pointer, NULL) >
	      0);
	wait_a_while();
	over = true;
	for (int i = 0; i < END_MS && !has_ended; i++)
		usleep(1000);
	CHECK(has_ended);
}

static void have_own(void)
{
	have_a_thread(STACK_BYTES, CLONE_SETTLS, pointer_new());
}

/* Less than the kernel writes for a signal. */
static void have_shared(void)
{
	have_a_thread(PAGE, 0, NULL);
}

#if defined(__x86_64__)
static void have_switches(void)
{
	uintptr_t other = (uintptr_t)pointer_new(), own = thread_pointer();

	for (int i = 0; i < 10; i++) {
		kernel_call6(SYS_arch_prctl, ARCH_SET_FS, (long)other, 0, 0, 0, 0);
		for (int n = 0; n < 50000000; n++)
			sum++;
		kernel_call6(SYS_arch_prctl, ARCH_SET_FS, (long)own, 0, 0, 0, 0);
	}
}
#else
static void have_switches(void)
{
}
#endif

static void on_signal(int signo)
{
	(void)signo;
	handled = true;
}

BARE static int signal_itself(void *unused)
{
	(void)unused;
	kernel_call6(SYS_kill, kernel_call6(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGUSR1, 0, 0, 0, 0);
	for (;;)
		kernel_call6(SYS_exit, !handled, 0, 0, 0, 0, 0);
}

static void have_handler(void)
{
	int status;
	pid_t child;

	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	child = clone(signal_itself, stack_top(STACK_BYTES),
		      CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, NULL, NULL, pointer_new(),
		      NULL);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
}

__attribute__((noinline)) static void work_after(void)
{
	double end = thread_cpu_ms() + 300;

	while (thread_cpu_ms() < end)
		sum++;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} hows[] = {
		{ "own", have_own },
		{ "shared", have_shared },
		{ "switches", have_switches },
		{ "handler", have_handler },
	};

	CHECK(argc == 2);
	wait_for_agent(30000);
	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++)
		if (!strcmp(argv[1], hows[i].name))
			hows[i].run();
	work_after();
	puts("ok");
	return 0;
}
