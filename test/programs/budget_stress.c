/* A fixed amount of work whose sampling is expensive, for test/bench/budget.sh. Prints the CPU time of the process in
 * seconds, after a third of the work and at the end.
 *
 *   budget_stress frames ROUNDS   computes below 1,000 frames
 *   budget_stress allocs ROUNDS   allocates as fast as it can
 *   budget_stress threads ROUNDS  10,000 threads, of which 100 wake at a time
 *   budget_stress short ROUNDS    threads that end after 50 us
 *   budget_stress plain ROUNDS    computes in one frame */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAMES  1000
#define THREADS 10000
#define AWAKE   100

static volatile uint64_t sink;

static void compute(uint64_t steps)
{
	while (steps--)
		sink += steps;
}

__attribute__((noinline)) static void descend(int frames)
{
	if (frames)
		descend(frames - 1);
	else
		compute(500000);
	sink++;
}

static void frames(void)
{
	descend(FRAMES);
}

static void plain(void)
{
	compute(500000);
}

static void allocs(void)
{
	for (int i = 0; i < 50000; i++)
		free(memset(malloc((size_t)(i % 1000) + 16), 1, 16));
}

static void *run_short(void *argument)
{
	compute(25000);
	return argument;
}

static void short_threads(void)
{
	pthread_t threads[16];

	for (int i = 0; i < 16; i++)
		if (pthread_create(&threads[i], NULL, run_short, NULL))
			exit(2);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
}

static sem_t wakes[THREADS], done;

static void *run_sleeper(void *argument)
{
	for (;;) {
		sem_wait(argument);
		compute(20000); /* less would measure how the scheduler orders wakeups */
		sem_post(&done);
	}
	return NULL;
}

static void sleepers_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	sem_init(&done, 0, 0);
	for (int i = 0; i < THREADS; i++) {
		sem_init(&wakes[i], 0, 0);
		if (pthread_create(&thread, &attr, run_sleeper, &wakes[i]))
			exit(2);
	}
}

static void sleepers_wake(void)
{
	static unsigned next;

	for (int i = 0; i < AWAKE; i++)
		sem_post(&wakes[next++ % THREADS]);
	for (int i = 0; i < AWAKE; i++)
		sem_wait(&done);
}

static const struct {
	const char *name;
	void (*start)(void);
	void (*round)(void);
} modes[] = {
	{ "frames", NULL, frames },
	{ "plain", NULL, plain },
	{ "allocs", NULL, allocs },
	{ "short", NULL, short_threads },
	{ "threads", sleepers_start, sleepers_wake },
};

static void print_used(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%.4f ", (double)used.tv_sec + (double)used.tv_nsec / 1e9);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0;

	for (size_t i = 0; rounds && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		if (modes[i].start)
			modes[i].start();
		for (int round = 0; round < rounds; round++) {
			if (round == rounds / 3)
				print_used();
			modes[i].round();
		}
	}
	print_used();
	_exit(0);
}
