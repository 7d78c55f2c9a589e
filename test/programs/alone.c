/* A program with one thread and its own malloc, which checks its caller. It prints an error, with
 * status 1, if the C library takes the program for multi-threaded while it is profiled, if another
 * thread allocates, or if its environment, locale or streams change.
 *
 * usage: alone SECONDS */
#include <locale.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Alignas(16) unsigned char memory[64u << 20];
static size_t used;
static atomic_uint strangers;

static void look(void)
{
	if (syscall(SYS_gettid) != syscall(SYS_getpid))
		atomic_fetch_add(&strangers, 1);
}

/* Only the last block is reused: the program is short. */
void *malloc(size_t size)
{
	size_t *block;

	look();
	size = (size + 31) & ~(size_t)15;
	if (size > sizeof(memory) - used)
		return NULL;
	block = (size_t *)(void *)(memory + used);
	used += size;
	*block = size;
	return block + 2;
}

void free(void *p)
{
	look();
	if (p && (unsigned char *)p - 16 + ((size_t *)p)[-2] == memory + used)
		used -= ((size_t *)p)[-2];
}

void *calloc(size_t count, size_t size)
{
	void *p = malloc(count * size);

	if (p)
		memset(p, 0, count * size);
	return p;
}

void *realloc(void *p, size_t size)
{
	void *moved = malloc(size);

	if (p && moved)
		memcpy(moved, p, ((size_t *)p)[-2] - 16 < size ? ((size_t *)p)[-2] - 16 : size);
	return moved;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int check(int right, const char *what)
{
	if (!right)
		printf("%s\n", what);
	return !right;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	char **environment = environ, *first = *environ;
	const char *locale = setlocale(LC_ALL, NULL);
	FILE *out = fopen("/dev/null", "w");
	unsigned many = 0;
	int wrong = 0;

	while (now() < until) {
		for (int i = 0; i < 1000; i++) {
			free(malloc((size_t)i));
			putc('x', out);
		}
		many += !__libc_single_threaded;
	}
	wrong += check(!many, "the C library knows of another thread");
	wrong += check(!atomic_load(&strangers), "another thread allocates");
	wrong += check(environ == environment && *environ == first, "the environment is another");
	wrong += check(!strcmp(setlocale(LC_ALL, NULL), locale), "the locale is another");
	return wrong != 0;
}
