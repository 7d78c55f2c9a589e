/* A program that sizes its stacks: its coroutines have the few bytes that they need, and so has its
 * signal stack, which gets no signal. Or the signal stack is large, with a handler for an overflow
 * of the main one. Or threads share one, as Varnish's. Or, as in .NET, the handler of a fault
 * leaves the signal stack and needs it later. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "check.h"

#define COROUTINE_BYTES 2048
#define APART_BYTES     (32u << 10) /* as the Go runtime's */
#define WORK_S          1

#if defined(__x86_64__)
#define LEAST_APART_BYTES 2048
#else
#define LEAST_APART_BYTES 5120
#endif

static ucontext_t caller, coroutine;

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

static void work(void)
{
	time_t until = now_s() + WORK_S;

	while (now_s() < until)
		;
}

/* Two pages; the memory below the second cannot be written to. */
static char *guarded(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK(!mprotect(memory, page, PROT_NONE));
	return memory + page;
}

static void have_a_stack_apart(void)
{
	static char memory[APART_BYTES];
	stack_t apart = { .ss_sp = memory, .ss_size = sizeof(memory) };

	CHECK(!sigaltstack(&apart, NULL));
}

/* Unmap the signal stack and leave it installed: no signal comes that needs it. */
static void work_after_the_stack_apart(void)
{
	char *memory = mmap(NULL, 2 * APART_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t apart = { .ss_sp = memory, .ss_size = 2 * APART_BYTES }, now;

	CHECK(memory != MAP_FAILED);
	CHECK(!sigaltstack(&apart, NULL));
	CHECK(!munmap(memory + APART_BYTES, APART_BYTES));
	CHECK(!munmap(memory, APART_BYTES));
	work();
	CHECK(!sigaltstack(NULL, &now));
	CHECK(now.ss_sp == memory && now.ss_size == 2 * APART_BYTES && !now.ss_flags);
}

/* A thread with a small signal stack, which it sees unchanged. */
static void *work_next_to_a_small_one(void *unused)
{
	stack_t small = { .ss_sp = guarded(), .ss_size = LEAST_APART_BYTES }, now;

	CHECK(!sigaltstack(&small, NULL));
	work();
	CHECK(!sigaltstack(NULL, &now));
	CHECK(now.ss_sp == small.ss_sp && now.ss_size == small.ss_size && !now.ss_flags);
	return unused;
}

static void start_one_next_to_a_small_one(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, work_next_to_a_small_one, NULL));
	CHECK(!pthread_join(thread, NULL));
}

/* A thread with the signal stack of all others, which is only for a handler that ends the process. */
static void *work_next_to_a_shared_one(void *shared)
{
	stack_t now;

	CHECK(!sigaltstack(shared, NULL));
	work();
	CHECK(!sigaltstack(NULL, &now));
	CHECK(now.ss_sp == ((stack_t *)shared)->ss_sp && !now.ss_flags);
	return shared;
}

static void start_next_to_a_shared_one(void)
{
	static char memory[2 * APART_BYTES];
	stack_t shared = { .ss_sp = memory, .ss_size = sizeof(memory) };
	pthread_t threads[24];

	for (int i = 0; i < 24; i++)
		CHECK(!pthread_create(&threads[i], NULL, work_next_to_a_shared_one, &shared));
	for (int i = 0; i < 24; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static void work_in_a_coroutine(void)
{
	CHECK(!getcontext(&coroutine));
	coroutine.uc_stack.ss_sp = guarded();
	coroutine.uc_stack.ss_size = COROUTINE_BYTES;
	coroutine.uc_link = &caller;
	makecontext(&coroutine, work, 0);
	CHECK(!swapcontext(&caller, &coroutine));
}

static char *page;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	static char elsewhere[APART_BYTES];
	volatile unsigned int kept[128];

	(void)signo;
	(void)context;
	for (unsigned int i = 0; i < 128; i++)
		kept[i] = i;
	CHECK(!getcontext(&coroutine));
	coroutine.uc_stack = (stack_t){ .ss_sp = elsewhere, .ss_size = sizeof(elsewhere) };
	coroutine.uc_link = &caller;
	makecontext(&coroutine, work, 0);
	CHECK(!swapcontext(&caller, &coroutine));
	for (unsigned int i = 0; i < 128; i++)
		CHECK(kept[i] == i);
	CHECK(info->si_addr == page);
	CHECK(!mprotect(page, APART_BYTES, PROT_READ | PROT_WRITE));
}

static void fault_as_dotnet(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	CHECK(!sigaddset(&action.sa_mask, SIGRTMIN));
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	page = mmap(NULL, APART_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	*(volatile char *)page = 1;
}

static void on_overflow(int signo)
{
	(void)signo;
	_exit(7);
}

static int recurse(int depth)
{
	volatile char frame[1024];

	frame[0] = (char)depth;
	return recurse(depth + 1) + frame[0];
}

static void overflow(void)
{
	work(); /* until an engine has started */
	recurse(0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "coroutine", work_in_a_coroutine },
	{ "unmapped", work_after_the_stack_apart },
	{ "small", start_one_next_to_a_small_one },
	{ "shared", start_next_to_a_shared_one },
	{ "left", fault_as_dotnet },
	{ "overflow", overflow },
};

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };

	CHECK(argc == 2);
	have_a_stack_apart();
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	now_s(); /* the loader needs more than a coroutine's stack to resolve a function */
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return 2;
}
