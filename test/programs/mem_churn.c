/* Threads that allocate, free what others allocated, resize, fork, open and close libraries, and
 * end, at random, for some seconds; memory is filled and looked at, so that what is given out
 * twice shows. Arguments: threads, seconds, whether to fork and to load libraries (1 or 0). */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARED 4096

struct block {
	size_t size;
	unsigned char mark;
	unsigned char data[];
};

static struct block *_Atomic shared[SHARED];
static _Atomic bool stop;
static bool forks;

static void wrong(const char *what)
{
	fprintf(stderr, "%s\n", what);
	_exit(3);
}

static struct block *fill(void *p, size_t size, unsigned mark)
{
	struct block *b = p;

	if (!b)
		wrong("out of memory");
	b->size = size;
	b->mark = (unsigned char)mark;
	b->data[0] = b->data[size - 1] = b->mark;
	return b;
}

static void look(const struct block *b)
{
	if (b->data[0] != b->mark || b->data[b->size - 1] != b->mark)
		wrong("a block was given out twice");
}

static struct block *allocate(unsigned random, size_t size)
{
	size_t all = sizeof(struct block) + size;
	void *p = NULL;

	switch (random % 8) {
	case 0:
		p = calloc(1, all);
		break;
	case 1:
		if (posix_memalign(&p, 64, all))
			p = NULL;
		break;
	case 2:
		p = memalign(32, all);
		break;
	case 3:
		p = aligned_alloc(16, (all + 15) & ~(size_t)15);
		break;
	case 4:
		p = reallocarray(NULL, 1, all);
		break;
	default:
		p = malloc(all);
	}
	return fill(p, size, random >> 3);
}

static struct block *resize(struct block *b, size_t size)
{
	unsigned mark = b->mark;

	look(b);
	b = realloc(b, sizeof(*b) + size);
	if (!b || b->data[0] != mark)
		wrong("realloc lost what was there");
	return fill(b, size, mark);
}

static void child(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(1000));
	for (int i = 0; i < 16; i++) {
		struct block *b = atomic_exchange(&shared[i], NULL);

		free(b);
	}
	_exit(0);
}

static void rarely(unsigned random)
{
	static const char *const libraries[] = { "libm.so.6", "libz.so.1", "liblzma.so.5",
						 "libgcc_s.so.1" };
	void *library;
	int status;
	pid_t pid;

	if (random % 2) {
		library = dlopen(libraries[random / 2 % 4], RTLD_NOW);
		if (library)
			dlclose(library);
		return;
	}
	pid = fork();
	if (!pid)
		child();
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
		wrong("a child came to harm");
}

/* A life of some thousand steps; the main thread starts another when it is over. */
static void *live(void *seed)
{
	unsigned random = (unsigned)(uintptr_t)seed;

	for (int i = 0; i < 5000 && !atomic_load(&stop); i++) {
		unsigned r = (unsigned)rand_r(&random);
		size_t size = 1 + (r % 50 ? r % 2000 : r % 300000);
		struct block *b = atomic_exchange(&shared[(r >> 4) % SHARED], NULL);

		if (b && r % 4 == 0) {
			b = resize(b, size);
		} else {
			if (b)
				look(b);
			free(b);
			b = allocate((unsigned)rand_r(&random), size);
		}
		b = atomic_exchange(&shared[(unsigned)rand_r(&random) % SHARED], b);
		if (b)
			look(b);
		free(b);
		if (forks && (unsigned)rand_r(&random) % 20000 == 0)
			rarely((unsigned)rand_r(&random));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 64;
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 5);
	pthread_t thread[256];
	uintptr_t seed = 1;

	forks = argc > 3 ? atoi(argv[3]) : 1;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, live, (void *)seed++))
			return 1;
	for (int i = 0; time(NULL) < end; i = (i + 1) % threads) {
		pthread_join(thread[i], NULL);
		if (pthread_create(&thread[i], NULL, live, (void *)seed++))
			return 1;
	}
	atomic_store(&stop, true);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < SHARED; i++)
		free(shared[i]);
	puts("done");
	return 0;
}
