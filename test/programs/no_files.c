/* Gives up all files as Chromium's sandbox does: its root directory is one in /proc, of an ended
 * process. A later child computes for a while. Usage: no_files. Status 77 if no user namespace can
 * be made. */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static void compute(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	while (clock() < end)
		;
}

/* A process that shares its root directory with this one, and ends. */
static void leave_root(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL);
	int status;

	CHECK(child >= 0);
	if (!child)
		syscall(SYS_exit_group, chroot("/proc/self/fdinfo/") || chdir("/"));
	CHECK(waitpid(child, &status, 0) == child && !status);
}

int main(void)
{
	int status;
	pid_t child;

	wait_for_agent(30000);
	if (unshare(CLONE_NEWUSER))
		return 77;
	leave_root();
	CHECK(access("/", F_OK) || access("/proc", F_OK));
	compute();
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		compute();
		return 0;
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	puts("done");
	return 0;
}
