/* Linked with the interposers into a separate preload: hooks that count calls, and a line with the
 * counts on stderr when the process ends. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/hooks.h"

static int started, ended, bad_stacks;

/* Reads the whole stack, so that an address above it faults. */
static void thread_started(pid_t tid, uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	volatile uintptr_t here = 0;
	uintptr_t sum = 0;

	if (tid != gettid() || !entry || stack_high <= (uintptr_t)&here || stack_low > stack_high)
		__atomic_fetch_add(&bad_stacks, 1, __ATOMIC_RELAXED);
	for (const volatile uintptr_t *p = &here; (uintptr_t)(p + 1) <= stack_high; p++)
		sum += *p;
	for (uintptr_t p = stack_low; p < stack_high; p += 4096)
		sum += *(const volatile char *)p;
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

/* With HOOKS_THREAD set there is a thread, as the agent has one, until a call needs it to end. */
static pthread_t thread;
static int quit[2];

static void *wait_for_end(void *unused)
{
	char byte;

	while (read(quit[0], &byte, 1) < 0)
		;
	return unused;
}

static bool before_namespace_change(void)
{
	if (!thread)
		return false;
	close(quit[1]);
	pthread_join(thread, NULL);
	thread = 0;
	return true;
}

/* A hook may change it. */
static void spoil_errno(void)
{
	errno = ENOANO;
}

static bool spoil_errno_and_agree(void)
{
	spoil_errno();
	return true;
}

static const struct interpose_hooks hooks = {
	.thread_started = thread_started,
	.thread_ended = thread_ended,
	.before_last_thread_ends = ignore,
	.process_cloned = ignore,
	.process_exiting = process_exiting,
	.process_exiting_again = ignore,
	.termination_requested = ignore,
	.crashed = ignore_crash,
	.exec_failed = ignore,
	.before_namespace_change = before_namespace_change,
	.after_namespace_change = spoil_errno,
	.before_credential_broadcast = spoil_errno_and_agree,
	.after_credential_broadcast = spoil_errno,
	.credentials_lost = spoil_errno,
	.before_sandbox = ignore_armed,
	.before_syscall_dispatch = ignore_armed,
	.before_tsc_is_disabled = ignore,
	.before_landlock = ignore,
	.after_landlock = ignore_landlock,
	.signal_claimed = ignore_signal,
};

__attribute__((constructor)) static void load(void)
{
	interpose_set_hooks(&hooks);
	exit_arm();
	if (getenv("HOOKS_THREAD") &&
	    (pipe(quit) || pthread_create(&thread, NULL, wait_for_end, NULL)))
		abort();
}

__attribute__((destructor)) static void unload(void)
{
	exit_notify(EXITING_NORMALLY);
}
