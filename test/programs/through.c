/* Runs in functions of the C library, and in their callbacks. If the library has no unwind
 * information, stacks must go through it nevertheless. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sum;
static int numbers[64];

static int compare(const void *a, const void *b)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		for (int i = 0; i < 1000; i++)
			sum++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec == start.tv_sec && now.tv_nsec < start.tv_nsec + 500000);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void write_text(char *text)
{
	for (int i = 0; i < 200000; i++)
		sum += (unsigned long)sprintf(text, "%d of %s", i, "them");
}

/* Remains of one on the stack are no caller in the other. */
__attribute__((noinline)) static void sort_numbers(void)
{
	for (int i = 0; i < 64; i++)
		numbers[i] = i * 7919 % 64;
	qsort(numbers, 64, sizeof(*numbers), compare);
	sum++;
}

int main(void)
{
	char text[64];

	write_text(text);
	sort_numbers();
	write_text(text);
	return 0;
}
