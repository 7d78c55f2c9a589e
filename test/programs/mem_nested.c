/* Allocates 50 MiB by each of several functions, some of which call others in musl. */
#include <malloc.h>
#include <stdlib.h>

#include "test/programs/profiled.h"

#define NOINLINE __attribute__((noinline))
#define ALL      (50u << 20)
#define BLOCK    4096u

/* No tail call of malloc. The functions differ, because the compiler would merge equal ones. */
static void use_and_free(void *p, int mark)
{
	if (!p)
		abort();
	*(volatile char *)p = (char)mark;
	free(p);
}

static NOINLINE void by_malloc(void)
{
	use_and_free(malloc(BLOCK), 1);
}

static NOINLINE void by_calloc(void)
{
	use_and_free(calloc(4, BLOCK / 4), 2);
}

static NOINLINE void by_memalign(void)
{
	use_and_free(memalign(64, BLOCK), 3);
}

static NOINLINE void by_posix_memalign(void)
{
	void *p;

	use_and_free(posix_memalign(&p, 64, BLOCK) ? NULL : p, 4);
}

static NOINLINE void by_realloc(void)
{
	use_and_free(realloc(malloc(BLOCK / 2), BLOCK), 5);
}

int main(void)
{
	need_agent();
	for (unsigned i = 0; i < ALL / BLOCK; i++) {
		by_malloc();
		by_calloc();
		by_memalign();
		by_posix_memalign();
		by_realloc();
	}
	return 0;
}
