/* Things that a program may do during the start delay that affect its agent. Prints the number of
 * threads before, and 1 if another one started and profiles within ten seconds; ends with 3. Usage:
 * start_delay plain|thread|handlers|starting|blocked. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = -2; /* . and .. */

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static int more_than(int threads, int seconds)
{
	struct timespec moment = { .tv_nsec = 5000000 };

	for (int i = 0; i < seconds * 200; i++) {
		if (count_threads() > threads)
			return 1;
		nanosleep(&moment, NULL);
	}
	return 0;
}

static void on_signal(int signo)
{
	_exit(signo);
}

/* As the Go runtime does, which may begin later than the agent on a busy machine. */
static void take_every_signal(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	for (int signo = 1; signo <= 64; signo++)
		sigaction(signo, &action, NULL);
}

static int is_profiled(void)
{
	struct timespec moment = { .tv_nsec = 5000000 };

	if (!more_than(1, 10) || !asprof_agent_running)
		return 0;
	for (int i = 0; i < 2000 && !asprof_agent_running(); i++)
		nanosleep(&moment, NULL);
	return asprof_agent_running();
}

static void *nothing(void *unused)
{
	return unused;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long every = ~0ul;
	pthread_t thread;

	if (!strcmp(what, "thread")) {
		pthread_create(&thread, NULL, nothing, NULL);
		pthread_join(thread, NULL);
		printf("%d\n", is_profiled());
		return 3;
	}
	if (!strcmp(what, "handlers")) {
		take_every_signal();
		printf("%d\n", is_profiled());
		return 3;
	}
	if (!strcmp(what, "starting")) {
		while (count_threads() == 1)
			;
		take_every_signal();
		printf("%d\n", is_profiled());
		return 3;
	}
	if (!strcmp(what, "blocked")) {
		/* Not by the C library, which would omit that signal. */
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, NULL, sizeof(every));
		execl("/proc/self/exe", argv[0], "inherited", (char *)NULL);
	}
	if (!strcmp(what, "inherited")) {
		printf("%d\n", is_profiled());
		return 3;
	}
	printf("%d\n", count_threads());
	printf("%d\n", is_profiled());
	return 3;
}
