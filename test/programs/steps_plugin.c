/* A library to open and close: a constructor, a destructor, an ifunc, and thread-local memory that
 * is allocated at its first use. */
#include <stdlib.h>

static __thread char *local;
static char *kept;

static int one(void)
{
	return 1;
}

/* Runs while the library is relocated. */
static int (*choose(void))(void)
{
	return one;
}

int chosen(void) __attribute__((ifunc("choose")));

__attribute__((constructor)) static void come(void)
{
	kept = malloc(100);
}

__attribute__((destructor)) static void go(void)
{
	free(kept);
}

int work(int (*function)(void))
{
	local = kept;
	return function() + chosen() + (local != NULL);
}
