/* A library that measures walks of its caller's stack: for CPython by ctypes, for PHP by FFI and
 * for Perl by its loader, as walks(); for node as an addon, and for Ruby as an extension. Prints
 * the time of a walk with the script's frames, and without, in a handler and at an allocation: the
 * minimum of many rounds, with all data in the processor's caches. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/modules.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/runtime/runtimes.h"
#include "test/fixtures/compile_modules.h"

#define ROUNDS 200
#define WALKS  20

void walks(void);
void *napi_register_module_v1(void *environment, void *exports);
void Init_walks(void);

static uintptr_t stack_high, pcs[1024];
static volatile size_t depth; /* set in the handler */
static volatile double least;

static void note(uint64_t begin)
{
	double ns = (double)(clock_monotonic_ns() - begin) / WALKS;

	if (least <= 0 || ns < least)
		least = ns;
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	uint64_t begin = clock_monotonic_ns();
	bool truncated;

	(void)signo;
	(void)info;
	for (int i = 0; i < WALKS; i++)
		depth = mixed_stack_context(context, stack_high, pcs, 1024, &truncated);
	note(begin);
}

static void in_handler(void)
{
	raise(SIGUSR2);
}

static void at_call(void)
{
	uint64_t begin = clock_monotonic_ns();
	bool truncated;

	for (int i = 0; i < WALKS; i++)
		depth = mixed_stack_here(stack_high, 0, pcs, 1024, &truncated);
	note(begin);
}

static void find_stack_high(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &low, &size))
		stack_high = (uintptr_t)low + size;
	pthread_attr_destroy(&attributes);
}

static double measure(void (*way)(void))
{
	least = 0;
	for (int i = 0; i < ROUNDS; i++)
		way();
	return least;
}

static size_t script_frames(void)
{
	struct script_frame frame;
	size_t count = 0;

	at_call();
	for (size_t i = 0; i < depth; i++)
		count += frame_table_find(pcs[i], &frame);
	return count;
}

void walks(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, before;
	double handler, call;
	size_t frames;

	find_stack_high();
	cfi_lookup_init();
	if (modules_open() || compile_modules() < 0)
		exit(1);
	runtimes_scan();
	runtimes_visit();
	sigaction(SIGUSR2, &action, &before);
	frames = script_frames();
	handler = measure(in_handler);
	call = measure(at_call);
	for (int kind = 0; kind < RUNTIME_KINDS; kind++)
		mixed_stack_look_for((enum runtime_kind)kind, NULL, 0);
	printf("%zu frames of the script, %zu in all: in a handler %.0f ns a walk, at an "
	       "allocation %.0f ns",
	       frames, depth, handler, call);
	handler = measure(in_handler);
	printf("; native frames alone (%zu) %.0f and %.0f ns\n", depth, handler, measure(at_call));
	sigaction(SIGUSR2, &before, NULL);
	fflush(stdout);
	_exit(frames < 20);
}

void *napi_register_module_v1(void *environment, void *exports)
{
	(void)environment;
	walks();
	return exports;
}

void Init_walks(void)
{
	walks();
}
