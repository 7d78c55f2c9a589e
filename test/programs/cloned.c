/* Children with their own memory that are not made by fork(3): by clone(2), _Fork(3), and system
 * calls. Each waits until it is profiled, uses BURN_MS of CPU time in a function with the name of
 * its kind, and prints "NAME PID". One more, by clone(2), shares the memory, and must not be taken
 * for a separate process. Others are made by syscall(2) with a stack. */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define BURN_MS     300
#define STACK_BYTES (64u << 10)

pid_t _Fork(void) __attribute__((weak));

static void fail(const char *what)
{
	perror(what);
	_exit(9);
}

#define BURNS(name)                                            \
	__attribute__((noinline)) static int name(void *seven) \
	{                                                      \
		BURN_AS(name, BURN_MS);                        \
		return *(int *)seven;                          \
	}

BURNS(by_clone)
BURNS(by_under_fork)
BURNS(by_call)
BURNS(by_call3)

static void wait_for(pid_t pid, int wanted)
{
	int status;

	if (pid < 0)
		fail("a child");
	if (waitpid(pid, &status, __WALL) != pid || status != wanted << 8) {
		fprintf(stderr, "%d ended with status %x\n", pid, status);
		_exit(9);
	}
}

/* A child of syscall(2) with a stack of its own returns to the address at its top, and sees the
 * caller's registers. */
#if defined(__x86_64__)
void child_on_stack(void);
long call_on_stack(long number, long a, long b, long kept);

__asm__(".pushsection .text\n"
	"child_on_stack:\n"
	"	mov %rbx, %rdi\n"
	"	mov $60, %eax\n" /* exit(2) */
	"	syscall\n"
	"call_on_stack:\n"
	"	push %rbx\n"
	"	mov %rcx, %rbx\n"
	"	call syscall@PLT\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.popsection\n");

static void have_children_on_stacks(char *stack)
{
	void **top = (void **)(stack + STACK_BYTES - 64);
	struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK,
				   .exit_signal = SIGCHLD,
				   .stack = (uintptr_t)stack,
				   .stack_size = STACK_BYTES - 64 };

	*top = (void *)child_on_stack;
	wait_for((pid_t)call_on_stack(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, (long)top, 8),
		 8);
	wait_for((pid_t)call_on_stack(SYS_clone, SIGCHLD, (long)top, 9), 9);
	wait_for((pid_t)call_on_stack(SYS_clone3, (long)&args, sizeof(args), 10), 10);
	/* Refused arguments. */
	if (syscall(SYS_clone3, NULL, sizeof(args)) != -1 ||
	    syscall(SYS_clone3, 64, sizeof(args)) != -1)
		fail("clone3(2) of nothing");
}
#else
static void have_children_on_stacks(char *stack)
{
	(void)stack;
}
#endif

static int shares(void *seven)
{
	return *(int *)seven + 1;
}

int main(void)
{
	static _Alignas(16) char stack[STACK_BYTES];
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pids[4] = { 0 };
	int seven = 7;
	pid_t parent_saw = 0;

	need_agent();
	/* All seven arguments are passed on. */
	pids[0] = clone(by_clone, stack + STACK_BYTES, CLONE_PARENT_SETTID | SIGCHLD, &seven,
			&parent_saw, NULL, NULL);
	if (parent_saw != pids[0])
		fail("the id that clone(2) tells");
	if (_Fork && !(pids[1] = _Fork()))
		_exit(by_under_fork(&seven));
#if defined(SYS_fork)
	pids[2] = (pid_t)syscall(SYS_fork);
#else
	pids[2] = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
	if (!pids[2])
		_exit(by_call(&seven));
	pids[3] = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pids[3])
		_exit(by_call3(&seven));
	wait_for(clone(shares, stack + STACK_BYTES, CLONE_VM | SIGCHLD, &seven), 8);
	have_children_on_stacks(stack);
	if (!asprof_agent_running())
		fail("the agent is gone with a child that shares its memory");
	for (int i = 0; i < 4; i++)
		if (pids[i])
			wait_for(pids[i], 7);
	return 0;
}
