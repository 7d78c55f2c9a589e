/* One thread, which enters its own mount namespace by setns(2). The kernel forbids that while another thread has the same
 * root and working directory. Prints "ready", and at the end of its input "ok", if that works while it is profiled.
 *
 *   enters_mounts       with the agent's thread in it, for which it waits
 *   enters_mounts bare  without; the status says whether it may */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void await_agent(void)
{
	static const struct timespec moment = { .tv_nsec = 10000000 };
	struct stat tasks;

	for (int i = 0; i < 3000 && !stat("/proc/self/task", &tasks) && tasks.st_nlink < 4; i++)
		nanosleep(&moment, NULL);
}

int main(int argc, char **argv)
{
	int space = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	char byte;

	(void)argv;
	if (argc == 1) {
		puts("ready");
		fflush(stdout);
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
		await_agent();
	}
	if (setns(space, CLONE_NEWNS)) {
		perror("setns");
		return 1;
	}
	puts("ok");
	return 0;
}
