/* A program with its own malloc, which takes all memory from one array, also for the C library's
 * allocations. free aborts on any other address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char memory[64 << 20] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
	size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);

	if (at + size + 16 > sizeof(memory))
		return NULL;
	*(size_t *)(void *)(memory + at) = size;
	return memory + at + 16;
}

void free(void *p)
{
	if (p && ((char *)p < memory || (char *)p >= memory + sizeof(memory)))
		abort();
}

void *calloc(size_t count, size_t size)
{
	void *p = malloc(count * size);

	return p; /* the array is zero, and no block is reused */
}

void *realloc(void *p, size_t size)
{
	void *moved = malloc(size);
	size_t had = p ? ((size_t *)p)[-2] : 0;

	free(p);
	return moved && p ? memcpy(moved, p, had < size ? had : size) : moved;
}

int main(void)
{
	char *copy = strdup("own"), *line = NULL;

	usleep(300000); /* the agent works meanwhile */
	for (int i = 0; i < 1000; i++)
		free(malloc(1000));
	if (asprintf(&line, "%s %d", copy, 1) < 0)
		return 1;
	puts(line);
	free(line);
	free(copy);
	return 0;
}
