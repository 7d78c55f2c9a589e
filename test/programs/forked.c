/* Forks as servers do. Each process below it waits until it is profiled, uses BURN_MS of CPU time
 * in a function with the name of its kind, and prints "NAME PID". Usage: forked HOW
 *
 *   early   two workers, at once
 *   late    two workers, when this process is profiled
 *   thread  the same, forked in a thread that is not the main one
 *   daemon  a grandchild whose parent has ended
 *   memory  one that keeps its allocations, and frees half of its parent's
 *   brief   fifty children that end or execute a program at once, and nothing else
 *   generations
 *           children of children, each of which prints its number of mappings
 *   stopped a child of a process that has stopped its agent: it checks for half a second that it has none
 *
 * A worker has its own child. One ends by exit(3), one by SIGTERM, the child by _exit(2). */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define BURN_MS 300

#define GENERATIONS 20

static void fail(const char *what)
{
	perror(what);
	_exit(9);
}

#define BURNS(name)                                      \
	__attribute__((noinline)) static void name(void) \
	{                                                \
		BURN_AS(name, BURN_MS);                  \
	}

BURNS(worker)
BURNS(below_worker)
BURNS(other_worker)
BURNS(below_daemon)

static pid_t checked_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	return pid;
}

static void wait_for(pid_t pid, int wanted)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != wanted) {
		fprintf(stderr, "%d ended with status %x\n", pid, status);
		_exit(9);
	}
}

static void work(void)
{
	pid_t pid;

	worker();
	pid = checked_fork();
	if (!pid) {
		below_worker();
		_exit(7);
	}
	wait_for(pid, 7 << 8);
	exit(3);
}

static void *fork_workers(void *unused)
{
	pid_t first = checked_fork(), second;

	if (!first)
		work();
	second = checked_fork();
	if (!second) {
		other_worker();
		raise(SIGTERM);
	}
	wait_for(first, 3 << 8);
	wait_for(second, SIGTERM);
	return unused;
}

static void in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fork_workers, NULL) || pthread_join(thread, NULL))
		fail("a thread");
}

static void daemonize(void)
{
	int gone[2];
	pid_t pid;
	char byte;

	if (pipe(gone))
		fail("pipe");
	pid = checked_fork();
	if (!pid) {
		setsid();
		if (checked_fork())
			_exit(0);
		below_daemon();
		exit(0); /* which closes the pipe after all reports */
	}
	close(gone[1]);
	wait_for(pid, 0);
	if (read(gone[0], &byte, 1))
		fail("read");
}

#define BLOCKS      100
#define BLOCK_BYTES 65536

static char *inherited[BLOCKS], *own[BLOCKS];

__attribute__((noinline)) static void parent_keeps(void)
{
	for (int i = 0; i < BLOCKS; i++)
		inherited[i] = malloc(BLOCK_BYTES);
}

__attribute__((noinline)) static void child_keeps(void)
{
	for (int i = 0; i < BLOCKS; i++)
		own[i] = malloc(BLOCK_BYTES);
}

static void memory(void)
{
	pid_t pid;

	parent_keeps();
	pid = checked_fork();
	if (!pid) {
		for (int i = 0; i < BLOCKS / 4; i++)
			free(inherited[i]);
		need_agent();
		dprintf(STDOUT_FILENO, "child %d\n", getpid());
		for (int i = BLOCKS / 4; i < BLOCKS / 2; i++)
			free(inherited[i]);
		child_keeps();
		for (int i = 0; i < BLOCKS / 4; i++)
			free(own[i]);
		exit(0);
	}
	wait_for(pid, 0);
}

static void brief(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = checked_fork();

		if (!pid && i % 2)
			_exit(0);
		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		wait_for(pid, 0);
	}
}

static void stop(void)
{
	pid_t pid;

	if (asprof_agent_stop())
		fail("asprof_agent_stop");
	pid = checked_fork();
	if (!pid) {
		usleep(500000);
		_exit(asprof_agent_running());
	}
	wait_for(pid, 0);
}

static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int c, lines = 0;

	if (!maps)
		fail("/proc/self/maps");
	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

/* Children of children, each of which has an agent. */
static void generations(void)
{
	pid_t pid = 0;

	for (int i = 0; i < GENERATIONS && !pid; i++) {
		need_agent();
		if (i)
			dprintf(STDOUT_FILENO, "%d\n", mappings());
		pid = checked_fork();
		if (!pid && i + 1 == GENERATIONS)
			_exit(0);
	}
	wait_for(pid, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "early"))
		need_agent();
	if (!strcmp(how, "early") || !strcmp(how, "late"))
		fork_workers(NULL);
	else if (!strcmp(how, "thread"))
		in_thread();
	else if (!strcmp(how, "daemon"))
		daemonize();
	else if (!strcmp(how, "memory"))
		memory();
	else if (!strcmp(how, "brief"))
		brief();
	else if (!strcmp(how, "generations"))
		generations();
	else if (!strcmp(how, "stopped"))
		stop();
	else
		return 2;
	return 0;
}
