/* Checks the handling of a sampler's signal, which is the argument. Prints "ok". */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "test/programs/check.h"

/* As rt_sigaction(2) has it. */
struct kernel_action {
	void (*handler)(int signo, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static struct kernel_action in_force(int signo)
{
	struct kernel_action action;

	CHECK(!syscall(SYS_rt_sigaction, signo, NULL, &action, sizeof(action.mask)));
	return action;
}

/* A handler in a thread that was interrupted after a system call in execute-only code, which not
 * every processor has: this page cannot be read either. */
static void code_that_cannot_be_read(int signo)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	siginfo_t info = { .si_signo = signo };
	ucontext_t context;

	CHECK(page != MAP_FAILED);
	memset(&context, 0, sizeof(context));
#if defined(__x86_64__)
	context.uc_mcontext.gregs[REG_RIP] = (long)(page + 64);
	context.uc_mcontext.gregs[REG_RAX] = -EINTR;
#elif defined(__aarch64__)
	context.uc_mcontext.pc = (uintptr_t)(page + 64);
	context.uc_mcontext.regs[0] = (uint64_t)-EINTR;
#endif
	in_force(signo).handler(signo, &info, &context);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* A sample that is due when the program resets the signal's handler finds a stack to run on: a
 * thread's stack of Go is too small. */
static void given_back(int signo)
{
	CHECK(in_force(signo).flags & SA_ONSTACK);
	CHECK(signal(signo, on_signal) == SIG_DFL);
	CHECK(in_force(signo).handler != (void (*)(int, siginfo_t *, void *))SIG_DFL);
	CHECK(signal(signo, SIG_DFL) == on_signal);
	CHECK(in_force(signo).flags & SA_ONSTACK);
	CHECK(in_force(signo).flags & SA_SIGINFO && in_force(signo).flags & SA_RESTART);
}

/* A sample comes before the interposer knows that another one interrupted its call (between.c). */
static void two_in_turn(void)
{
	for (int i = 0; i < 20; i++)
		CHECK(!poll(NULL, 0, 20));
}

int main(int argc, char **argv)
{
	int signo = argc > 1 ? atoi(argv[1]) : SIGRTMAX;

	code_that_cannot_be_read(signo);
	two_in_turn();
	given_back(signo);
	puts("ok");
	return 0;
}
