/* Uses SECONDS of CPU time, in two threads, with every shape of stack that C has. */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static double seconds;
static volatile uint64_t sink;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void sort(void)
{
	int numbers[2000];

	for (int i = 0; i < 2000; i++)
		numbers[i] = i * 7919 % 2003;
	qsort(numbers, 2000, sizeof(numbers[0]), compare);
	sink += (uint64_t)numbers[1];
}

NOINLINE static void print(void)
{
	char text[200];

	for (int i = 0; i < 300; i++)
		sink += (uint64_t)snprintf(text, sizeof(text), "%d %s %.17g", i, "text", i / 3.0);
}

NOINLINE static uint64_t on_variable_stack(size_t size)
{
	volatile char *room = __builtin_alloca(size);

	memset((char *)room, 1, size);
	for (size_t i = 0; i < size; i++)
		sink += (uint64_t)room[i];
	return sink;
}

NOINLINE static uint64_t recurse(int depth)
{
	uint64_t value;

	if (!depth) {
		sort();
		print();
		return on_variable_stack(5000);
	}
	value = recurse(depth - 1);
	return value + (uint64_t)depth;
}

NOINLINE static void jump(void)
{
	jmp_buf back;

	if (!setjmp(back)) {
		on_variable_stack(3000);
		longjmp(back, 1);
	}
}

static void *work(void *unused)
{
	do {
		sink += recurse((int)(sink % 60));
		jump();
	} while ((double)clock() < seconds * CLOCKS_PER_SEC);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	seconds = argc > 1 ? atof(argv[1]) : 1;
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
	return 0;
}
