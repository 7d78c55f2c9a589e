/* Allocates larger and larger blocks and prints the results: "none" is ENOMEM. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failed;

__attribute__((noinline)) static void ask(const char *how, void *p, int err, int wanted)
{
	int refused = !p && err == ENOMEM;

	printf("%s %s\n", how, refused ? "none" : p ? "memory" : "another error");
	failed |= refused != wanted;
	free(p);
}

#define ASK(how, call, wanted)                             \
	do {                                               \
		errno = 0;                                 \
		void *got = call;                          \
		ask(how, got, errno, limited && (wanted)); \
	} while (0)

int main(int argc, char **argv)
{
	int limited = argc > 1 && atoi(argv[1]);
	size_t big = 10 << 20, small = big - 1;
	void *p = malloc(100), *moved;

	(void)argv;
	usleep(300000); /* the agent starts */
	ASK("malloc small", malloc(small), 0);
	ASK("malloc big", malloc(big), 1);
	ASK("calloc small", calloc(1, small), 0);
	ASK("calloc big", calloc(10, big / 10 + 1), 1);
	ASK("aligned_alloc big", aligned_alloc(64, big), 1);
	ASK("memalign big", memalign(64, big), 1);
	ASK("valloc big", valloc(big), 1);
	ASK("realloc big", realloc(NULL, big), 1);
	ASK("reallocarray big", reallocarray(NULL, 2, big / 2), 1);
	moved = realloc(p, big);
	failed |= !moved != limited;
	free(moved ? moved : p); /* when refused, it is unchanged */
	errno = posix_memalign(&p, 64, big);
	if (errno)
		p = NULL;
	ask("posix_memalign big", p, errno, limited);
	return failed;
}
