/* Things that C programs do with stacks, for every instruction: lazily bound calls, the vDSO,
 * handlers, jumps, contexts, threads, loaded and unloaded libraries, and processes. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "test/programs/stepper.h"

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

static int compare(const void *a, const void *b)
{
	const int *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static void library(void)
{
	int numbers[8];
	char text[200];
	void *block;

	for (int i = 0; i < 8; i++)
		numbers[i] = i * 7919 % 101;
	qsort(numbers, 8, sizeof(numbers[0]), compare);
	snprintf(text, sizeof(text), "%d %s %.3f %p", numbers[3], "words", 3.14, (void *)text);
	strtok(text, " ");
	block = realloc(malloc(100), 5000);
	memset(block, 1, 5000);
	free(block);
	sink += (unsigned long)(strtod("2.5e10", NULL) + pow(1.5, (double)sink) + sin(0.5));
}

/* A frame that is found through a register, in code that is linked far away, so that the program's
 * segments have a gap. */
NOINLINE __attribute__((section(".far"))) static int frames(int depth, int a, int b, int c, int d,
							    int e, int f)
{
	volatile _Alignas(128) char room[128];
	volatile char *more = __builtin_alloca((size_t)(f & 63) + 1);

	room[0] = (char)(a + b + c + d + e + f);
	more[0] = 0;
	if (depth)
		return frames(depth - 1, b, c, d, e, f, a) + room[0];
	return getppid() + room[0];
}

static void calls(void)
{
	library();
	sink += (unsigned long)frames(2, 1, 2, 3, 4, 5, 6);
}

static void kernel(void)
{
	struct timespec now, moment = { 0, 1000 };
	struct timeval day;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	clock_getres(CLOCK_MONOTONIC, &now);
	gettimeofday(&day, NULL);
	time(NULL);
	nanosleep(&moment, NULL);
	close(-1);
}

static sigjmp_buf outside;

static void on_signal(int signo)
{
	int saved = errno;

	step_again(); /* valid through the return */
	getppid();
	if (signo == SIGUSR2)
		siglongjmp(outside, 1);
	errno = saved;
}

static void handlers(void)
{
	static char memory[1 << 16];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	kill(getpid(), SIGUSR1);
	if (!sigsetjmp(outside, 1))
		raise(SIGUSR2);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

static jmp_buf above;

NOINLINE static void jump(int depth)
{
	if (!depth)
		longjmp(above, 1);
	jump(depth - 1);
	sink++;
}

static void jumps(void)
{
	if (!setjmp(above))
		jump(5);
	sink++;
}

static ucontext_t caller, first, second;

static void in_first(int a, int b)
{
	sink += (unsigned long)(a + b);
	library();
	swapcontext(&first, &caller);
	sink++;
}

static void in_second(void)
{
	sink++;
}

/* A context that ends continues with the linked one. */
static void make(ucontext_t *context, char *stack, size_t size, void (*function)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = size;
	context->uc_link = &caller;
	makecontext(context, function, 2, 1, 2);
}

static void contexts(void)
{
	static char stack[1 << 16], other[1 << 16];

	make(&first, stack, sizeof(stack), (void (*)(void))in_first);
	swapcontext(&caller, &first);
	make(&second, other, sizeof(other), in_second);
	swapcontext(&caller, &second);
	swapcontext(&caller, &first);
}

static pthread_key_t key;

static void at_end(void *value)
{
	sink += (unsigned long)value;
}

static void *returns(void *argument)
{
	pthread_setspecific(key, &key);
	library();
	return argument;
}

static void *exits(void *argument)
{
	sink++;
	pthread_exit(argument);
}

static void *waits(void *argument)
{
	pthread_cleanup_push(at_end, NULL);
	pause();
	pthread_cleanup_pop(0);
	return argument;
}

static void threads(void)
{
	static void *(*const entries[])(void *) = { returns, exits, waits };
	pthread_t thread;

	pthread_key_create(&key, at_end);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		pthread_create(&thread, NULL, entries[i], NULL);
		if (entries[i] == waits)
			pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
}

static int called(void)
{
	return 1;
}

/* Its name comes from the command line. */
static const char *plugin;

static void libraries(void)
{
	void *opened = dlopen(plugin, RTLD_LAZY);
	int (*work)(int (*)(void));

	if (!opened)
		abort();
	*(void **)&work = dlsym(opened, "work");
	sink += (unsigned long)work(called);
	dlclose(opened);
}

static void processes(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static void (*const parts[])(void) = { calls,    kernel,  handlers,  jumps,
					       contexts, threads, libraries, processes };

	if (argc != 2)
		return 2;
	plugin = argv[1];
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		step_on();
		parts[i]();
		step_off();
	}
	step_again();
	return 0;
}
