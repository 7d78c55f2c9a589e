/* A program with all kinds of samples: CPU time and sleep, memory that stays and memory that is
 * freed.
 *
 * usage: pushed SECONDS */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static void *volatile kept[1 << 16];
static size_t kept_count;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void burns_much(double until)
{
	while (now() < until)
		for (int i = 0; i < 10000; i++)
			sink += (unsigned long)i;
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void burns_little(double until)
{
	while (now() < until)
		for (int i = 0; i < 10000; i++)
			sink ^= (unsigned long)i;
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void keeps(void)
{
	for (int i = 0; i < 20 && kept_count < sizeof(kept) / sizeof(kept[0]); i++)
		kept[kept_count++] = malloc(3000);
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void lets_go(void)
{
	for (int i = 0; i < 100; i++) {
		void *volatile p = malloc(7000);

		atomic_signal_fence(memory_order_seq_cst);
		free(p);
	}
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	while (now() < end) {
		burns_much(now() + 0.03);
		burns_little(now() + 0.01);
		keeps();
		lets_go();
		usleep(5000);
	}
	return 0;
}
