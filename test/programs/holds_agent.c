/* Requests a report, stops all threads but its main one, and ends by HOW: "exit", "signal", or
 * "both" (a signal during the exit). Status 77 if processes may not trace each other. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

/* In a child, which lives until its parent has ended. Writes a byte when all are stopped. */
static void hold_threads(pid_t parent, int to_parent)
{
	char path[64], ok = 1;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", parent);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0 || tid == parent)
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
		    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
			ok = 0;
		else
			waitpid(tid, NULL, __WALL);
	}
	if (write(to_parent, &ok, 1) != 1)
		_exit(1);
	while (getppid() == parent)
		usleep(10000);
	_exit(0);
}

static void end_by_alarm(void)
{
	const struct timespec soon = { .tv_nsec = 200000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM };
	struct itimerspec once = { .it_value = soon };
	timer_t timer;

	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	CHECK(!timer_settime(timer, 0, &once, NULL));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	clock_t end;
	int ends[2];
	char ok = 0;
	pid_t child;

	need_agent();
	end = clock() + CLOCKS_PER_SEC / 10;
	while (clock() < end)
		;
	CHECK(!asprof_agent_flush());
	CHECK(!pipe(ends));
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		hold_threads(getppid(), ends[1]);
	CHECK(read(ends[0], &ok, 1) == 1);
	if (!ok)
		_exit(77);
	if (!strcmp(how, "both"))
		end_by_alarm();
	if (!strcmp(how, "signal"))
		raise(SIGTERM);
	return 0;
}
