/* Allocates 50 MiB in each of several ways before the end of the start delay, and as much in a
 * forked child. Then it waits until it is profiled, frees the blocks that it does not keep, and
 * ends. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define NOINLINE __attribute__((noinline))
#define MIB      (1u << 20)
#define ALL      (50u * MIB)
#define BLOCK    4096u

/* Not a tail call, so that the caller is in the stack. The work is so long that samples take a small part of the time:
 * the agent leaves out samples that take more. */
static void *written(void *p, int mark)
{
	if (!p)
		abort();
	for (int i = 0; i < 60000; i++)
		*(volatile char *)p = (char)mark;
	return p;
}

static NOINLINE void keep_early(void)
{
	for (unsigned i = 0; i < ALL / BLOCK; i++)
		written(malloc(BLOCK), 1);
}

static void *freed_late[ALL / BLOCK];

static NOINLINE void free_late(void)
{
	for (unsigned i = 0; i < ALL / BLOCK; i++)
		freed_late[i] = written(calloc(1, BLOCK), 2);
}

/* A buffer that grows to 50 MiB; each byte counts once. */
static NOINLINE void grow_early(void)
{
	void *p = NULL;

	for (unsigned size = MIB; size <= ALL; size += MIB)
		p = written(realloc(p, size), 3);
}

static NOINLINE void keep_in_child(void)
{
	for (unsigned i = 0; i < ALL / BLOCK; i++)
		written(malloc(BLOCK), 4);
}

int main(void)
{
	pid_t child;
	int status;

	keep_early();
	free_late();
	grow_early();
	child = fork();
	if (!child)
		keep_in_child();
	need_agent();
	if (!child)
		return 0;
	for (unsigned i = 0; i < ALL / BLOCK; i++)
		free(freed_late[i]);
	return waitpid(child, &status, 0) != child || status;
}
