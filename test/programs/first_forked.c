/* A child is the first process of a pid namespace, for which the kernel ignores signals with the
 * default action: they do not end its sleep. With an argument the child is created when the process
 * has a handler for SIGALRM, which this program does not install. Status 0; 77 if the machine has no
 * such namespaces. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define SLEEP_MS  200
#define SIGNAL_MS 50

static bool has_handler(int signo)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long long caught = 0;
	char line[256];

	CHECK(status);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "SigCgt: %llx", &caught);
	fclose(status);
	return caught >> (signo - 1) & 1;
}

static void sleep_ms(int ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000L };

	CHECK(!nanosleep(&time, NULL));
}

static void be_first(void)
{
	struct itimerval once = { .it_value.tv_usec = SIGNAL_MS * 1000 };

	CHECK(getpid() == 1);
	CHECK(!setitimer(ITIMER_REAL, &once, NULL) && !kill(1, SIGTERM) && !kill(1, SIGQUIT));
	sleep_ms(SLEEP_MS);
	exit(0);
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	(void)argv;
	for (int tries = 3000; argc > 1 && !has_handler(SIGALRM); tries--) {
		CHECK(tries);
		sleep_ms(10);
	}
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		return 77;
	child = fork();
	CHECK(child >= 0);
	if (!child)
		be_first();
	CHECK(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
