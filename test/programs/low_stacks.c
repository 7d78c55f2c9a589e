/* A program without a signal stack and without signals, and with almost no space left on its
 * stacks: of its coroutines ("coroutines"), or of its threads ("threads"). Or it checks its signal
 * stack ("look"), leaves handlers that may use one ("leave"), or has many threads, one after the
 * other ("many"). Prints "ok". */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define COROUTINES      100
#define THREADS         10
#define STACK_BYTES     16384 /* the minimum for a thread */
#define LEFT_BYTES      1024  /* much less than the kernel writes for a signal */
#define WORK_MS         300
#define GIVE_UP_MS      20000
#define MANY            2000
#define OURS_BYTES      (256u << 10)
#define COROUTINE_BYTES (64u << 10)

static ucontext_t caller, coroutines[COROUTINES];

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True when the work may end: after a while with an agent that takes samples, if there is one. */
static bool is_over(void)
{
	static long since, give_up;
	long now = now_ms();

	if (!give_up)
		give_up = now + GIVE_UP_MS;
	if (!since && (!asprof_agent_running || asprof_agent_running()))
		since = now;
	return now > give_up || (since && now - since > WORK_MS);
}

static void turn(int number)
{
	volatile int work = 0;

	for (;;) {
		while (work % 10000 != 9999)
			work++;
		work = 0;
		swapcontext(&coroutines[number], &caller);
	}
}

/* Two pages, of which the first cannot be written to. */
static char *guarded(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK(!mprotect(memory, page, PROT_NONE));
	return memory + page;
}

static void have_coroutines(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		CHECK(!getcontext(&coroutines[i]));
		coroutines[i].uc_stack.ss_sp = guarded();
		coroutines[i].uc_stack.ss_size = 2 * LEFT_BYTES;
		coroutines[i].uc_link = &caller;
		makecontext(&coroutines[i], (void (*)(void))turn, 1, i);
	}
	while (!is_over())
		for (int i = 0; i < COROUTINES; i++)
			CHECK(!swapcontext(&caller, &coroutines[i]));
}

static volatile bool over;

static void *fill_stack(void *unused)
{
	pthread_attr_t attr;
	size_t size;
	char here;
	void *low;

	CHECK(!pthread_getattr_np(pthread_self(), &attr));
	CHECK(!pthread_attr_getstack(&attr, &low, &size));
	*(volatile char *)__builtin_alloca((size_t)(&here - (char *)low) - LEFT_BYTES) = 1;
	while (!over)
		;
	return unused;
}

static void have_full_threads(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;

	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, STACK_BYTES));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], &attr, fill_stack, NULL));
	while (!is_over())
		usleep(1000);
	over = true;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static char *volatile handler_at;

static void on_signal(int signo)
{
	char here = (char)signo;

	handler_at = &here;
}

static void *look(void *unused)
{
	static char memory[OURS_BYTES];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	static const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t now;

	CHECK(!sigaltstack(NULL, &now));
	CHECK(now.ss_flags == SS_DISABLE);
	CHECK(!sigaltstack(&stack, &now));
	CHECK(now.ss_flags == SS_DISABLE);
	CHECK(!sigaltstack(NULL, &now));
	CHECK(now.ss_sp == memory && now.ss_size == sizeof(memory) && !now.ss_flags);
	CHECK(!raise(SIGUSR1));
	CHECK(handler_at >= memory && handler_at < memory + sizeof(memory));
	CHECK(!sigaltstack(&none, &now));
	CHECK(now.ss_sp == memory);
	CHECK(!sigaltstack(NULL, &now));
	CHECK(now.ss_flags == SS_DISABLE);
	/* A handler that needs a signal stack, without one. */
	CHECK(!raise(SIGUSR1));
	CHECK(handler_at < memory || handler_at >= memory + sizeof(memory));
	return unused;
}

static void look_at_stacks(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	pthread_t thread;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	look(NULL);
	CHECK(!pthread_create(&thread, NULL, look, NULL));
	CHECK(!pthread_join(thread, NULL));
}

static __thread sigjmp_buf back;

static void leave_handler(int signo)
{
	siglongjmp(back, signo);
}

static void raise_and_return(void)
{
	static char *volatile nowhere;
	volatile int times = 0;

	for (times = 0; times < 2; times++)
		if (!sigsetjmp(back, 1))
			CHECK(raise(SIGUSR1));
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
}

static void *leave_handlers(void *unused)
{
	raise_and_return();
	return unused;
}

static void *leave_handlers_in_coroutine(void *unused)
{
	static ucontext_t left, on_heap;
	char *stack = malloc(COROUTINE_BYTES);

	CHECK(stack && !getcontext(&on_heap));
	on_heap.uc_stack.ss_sp = stack;
	on_heap.uc_stack.ss_size = COROUTINE_BYTES;
	on_heap.uc_link = &left;
	makecontext(&on_heap, raise_and_return, 0);
	CHECK(!swapcontext(&left, &on_heap));
	free(stack);
	return unused;
}

static void have_threads_leave_handlers(void)
{
	void *(*const ways[])(void *) = { leave_handlers, leave_handlers_in_coroutine };
	struct sigaction action = { .sa_handler = leave_handler, .sa_flags = SA_ONSTACK };
	pthread_t thread;

	CHECK(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGSEGV, &action, NULL));
	leave_handlers(NULL);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		CHECK(!pthread_create(&thread, NULL, ways[i], NULL));
		CHECK(!pthread_join(thread, NULL));
	}
}

static int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	int c, lines = 0;

	CHECK(file);
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static void *nothing(void *unused)
{
	return unused;
}

/* One mapping serves all of them in turn. */
static void have_many_threads(void)
{
	pthread_t thread;
	int before = 0;

	for (int i = 0; i < MANY; i++) {
		CHECK(!pthread_create(&thread, NULL, nothing, NULL));
		CHECK(!pthread_join(thread, NULL));
		if (i == MANY / 2)
			before = mappings();
	}
	CHECK(mappings() < before + MANY / 10);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} hows[] = {
		{ "coroutines", have_coroutines }, { "threads", have_full_threads },
		{ "look", look_at_stacks },        { "leave", have_threads_leave_handlers },
		{ "many", have_many_threads },
	};

	CHECK(argc == 2);
	/* The loader needs more than their stacks to resolve a function. */
	CHECK(!getcontext(&caller) && !swapcontext(&caller, &caller));
	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++)
		if (!strcmp(argv[1], hows[i].name))
			hows[i].run();
	puts("ok");
	return 0;
}
