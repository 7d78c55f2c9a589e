/* Replaces async-profiler's library. As that library does, it notes the program's handler of faults after it has installed
 * its own. */
#include <signal.h>
#include <string.h>
#include <time.h>

typedef void writer(const char *text, size_t size);

#define BETWEEN_NS 20000000

static void (*after_fault)(int, siginfo_t *, void *);

static void on_fault(int signo, siginfo_t *info, void *context)
{
	after_fault(signo, info, context);
}

static void pause_a_moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = BETWEEN_NS }, NULL);
}

static const char *start(void)
{
	void (*before)(int, siginfo_t *, void *);
	struct sigaction action;

	sigaction(SIGSEGV, NULL, &action);
	before = action.sa_sigaction;
	sigemptyset(&action.sa_mask);
	action.sa_sigaction = on_fault;
	action.sa_flags |= SA_SIGINFO | SA_RESTART | SA_NODEFER;
	sigaction(SIGSEGV, &action, NULL);
	pause_a_moment();
	after_fault = before;
	return NULL;
}

const char *asprof_execute(const char *command, writer *output)
{
	(void)output;
	return strncmp(command, "start", 5) ? NULL : start();
}

void asprof_init(void)
{
}

const char *asprof_error_str(const char *err)
{
	return err;
}
