/* Linked with the interposers into a preload of their own: hooks that count, and a line on
 * stderr for what they counted when the process ends. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/interpose/hooks.h"

static int started, ended, bad_stacks;

/* Reads all of the stack, so that an address too high faults. */
static void thread_started(uintptr_t stack_high)
{
	volatile uintptr_t here = 0;
	uintptr_t sum = 0;

	if (stack_high <= (uintptr_t)&here)
		__atomic_fetch_add(&bad_stacks, 1, __ATOMIC_RELAXED);
	for (const volatile uintptr_t *p = &here; (uintptr_t)(p + 1) <= stack_high; p++)
		sum += *p;
	here = sum;
	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
}

static void thread_ended(void)
{
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static void process_exiting(enum exiting how)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "exiting %d: %d started, %d ended, %d bad\n", how,
			      started, ended, bad_stacks);

	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		started = -1;
}

static bool before_namespace_change(void)
{
	return false;
}

static void signal_claimed(int signo)
{
	(void)signo;
}

static const struct interpose_hooks hooks = {
	.thread_started = thread_started,
	.thread_ended = thread_ended,
	.process_exiting = process_exiting,
	.before_namespace_change = before_namespace_change,
	.signal_claimed = signal_claimed,
};

__attribute__((constructor)) static void load(void)
{
	interpose_set_hooks(&hooks);
	exit_arm();
}

__attribute__((destructor)) static void unload(void)
{
	exit_tell(EXITING_NORMALLY);
}
