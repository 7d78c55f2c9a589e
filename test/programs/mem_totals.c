/* Allocates known totals from known functions once it is profiled, frees them in other threads, and
 * keeps a known part. Prints for each function its allocated bytes (-: not known) and its retained bytes at the end.
 * Argument: number of rounds. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define PASSED_ON  64
#define KEPT       15000
#define KEPT_SIZE  100000
#define GROWN      8
#define GROWN_SIZE (1u << 20)
#define PAGE       4096u
#define NOINLINE   __attribute__((noinline))

/* Not a tail call, so that the caller is in the stack. The functions differ, because the compiler
 * would merge equal ones. */
#define ALLOCATE(size, mark)        \
	void *p = malloc(size);     \
                                    \
	if (!p)                     \
		abort();            \
	*(volatile char *)p = mark; \
	return p

static NOINLINE void *temp_small(size_t size)
{
	ALLOCATE(size, 1);
}

static NOINLINE void *temp_medium(size_t size)
{
	ALLOCATE(size, 2);
}

static NOINLINE void *temp_large(size_t size)
{
	ALLOCATE(size, 3);
}

static NOINLINE void *keep_large(size_t size)
{
	ALLOCATE(size, 4);
}

static NOINLINE void *grow(void *p, size_t size)
{
	void *grown = realloc(p, size);

	if (!grown)
		abort();
	*(volatile char *)grown = 5;
	return grown;
}

static struct work {
	const char *name;
	void *(*allocate)(size_t size);
	size_t size, spread; /* size to size + spread - 1 */
	unsigned long count;
	uint64_t allocated;
	void *_Atomic passed[PASSED_ON];
	_Atomic bool done;
} works[] = {
	{ "temp_small", temp_small, 16, 1024, 5000000, 0, { 0 }, false },
	{ "temp_medium", temp_medium, 4096, 1, 700000, 0, { 0 }, false },
	{ "temp_large", temp_large, 100000, 1, 40000, 0, { 0 }, false },
};

static void *allocates(void *arg)
{
	struct work *w = arg;
	uint32_t random = 1;

	for (unsigned long i = 0; i < w->count; i++) {
		random = random * 1664525u + 1013904223u;
		size_t size = w->size + (random >> 16) % w->spread;

		w->allocated += size;
		free(atomic_exchange(&w->passed[i % PASSED_ON], w->allocate(size)));
	}
	atomic_store(&w->done, true);
	return NULL;
}

/* Frees the blocks that the other thread allocated. */
static void *frees(void *arg)
{
	struct work *w = arg;
	bool last;

	do {
		last = atomic_load(&w->done);
		for (int i = 0; i < PASSED_ON; i++)
			free(atomic_exchange(&w->passed[i], NULL));
	} while (!last);
	return NULL;
}

static void run(struct work *w)
{
	pthread_t a, f;

	atomic_store(&w->done, false);
	if (pthread_create(&a, NULL, allocates, w) || pthread_create(&f, NULL, frees, w))
		abort();
	pthread_join(a, NULL);
	pthread_join(f, NULL);
}

/* Each grows by a page, and is mapped by the kernel: its usable size is almost a page more. */
static void grow_by_pages(void *grown[GROWN])
{
	mallopt(M_MMAP_THRESHOLD, PAGE);
	for (size_t size = PAGE; size <= GROWN_SIZE; size += PAGE)
		for (size_t i = 0; i < GROWN; i++)
			grown[i] = grow(grown[i], size);
	mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as before */
	printf("grow - %llu\n", (unsigned long long)GROWN * GROWN_SIZE);
}

int main(int argc, char **argv)
{
	static void *kept[KEPT], *grown[GROWN];
	/* By a pointer, because the compiler would make a function for this one size. */
	void *(*volatile keep)(size_t size) = keep_large;
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t kept_bytes = 0;

	wait_for_agent(60000);
	grow_by_pages(grown);
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
			run(&works[i]);
		/* The blocks of the last round stay. */
		for (size_t i = 0; i < KEPT; i++) {
			free(kept[i]);
			kept[i] = keep(KEPT_SIZE);
			kept_bytes += KEPT_SIZE;
		}
	}
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		printf("%s %llu 0\n", works[i].name, (unsigned long long)works[i].allocated);
	printf("keep_large %llu %llu\n", (unsigned long long)kept_bytes,
	       (unsigned long long)KEPT * KEPT_SIZE);
	return 0;
}
