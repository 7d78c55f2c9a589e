/* Threads whose data is destroyed as they end. Each destructor works, allocates, waits, and sets
 * its data again, so the C library calls it as often as possible. Its key is the first of the
 * program (early) or a late one (late), or was created after the program's first thread (behind).
 * With the builtin engine the program waits until the timers of ended threads are gone. Prints
 * "ok". */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define THREADS 20
#define ROUNDS  PTHREAD_DESTRUCTOR_ITERATIONS
#define WORK_US 4000

#define TIMERS_LEFT 4 /* of one thread, with some extra */

static pthread_key_t key;
static atomic_int calls;
static __thread volatile char own[4096]; /* of the thread until its end */

static void work(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 <
	       WORK_US);
}

static __thread unsigned int round_of_calls;

/* One for each round. */
__attribute__((noinline)) static void round_1(void)
{
	own[1]++;
	work();
	atomic_signal_fence(memory_order_seq_cst); /* a call, not a jump */
}

__attribute__((noinline)) static void round_2(void)
{
	own[2]++;
	work();
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void round_3(void)
{
	own[3]++;
	work();
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static void round_4(void)
{
	own[4]++;
	work();
	atomic_signal_fence(memory_order_seq_cst);
}

static void (*const rounds[])(void) = { round_1, round_2, round_3, round_4 };

_Static_assert(ROUNDS == sizeof(rounds) / sizeof(*rounds), "a function for each");

__attribute__((noinline)) static void take_down(void *data)
{
	char *block;

	atomic_fetch_add(&calls, 1);
	CHECK(round_of_calls < ROUNDS);
	for (size_t size = 1; size < 65536; size *= 2) {
		block = malloc(size);
		CHECK(block);
		memset(block, 1, size);
		free(block);
	}
	own[sizeof(own) - 1]++;
	rounds[round_of_calls++]();
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	CHECK(!pthread_setspecific(key, data));
}

static void *in_thread(void *data)
{
	CHECK(!pthread_setspecific(key, data));
	return NULL;
}

static void *nothing(void *unused)
{
	return unused;
}

/* Of the process; 0 if the kernel does not report it. */
static int timers(void)
{
	FILE *file = fopen("/proc/self/timers", "re");
	char line[256];
	int count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += !strncmp(line, "ID:", 3);
	if (file)
		fclose(file);
	return count;
}

static void wait_for_timers(void)
{
	const char *engine = getenv("ASPROF_AGENT_ENGINE");

	if (!engine || strcmp(engine, "builtin") != 0)
		return;
	for (int i = 0; i < 3000 && timers() > TIMERS_LEFT; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	CHECK(timers() <= TIMERS_LEFT);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_key_t others[100];

	CHECK(argc == 2);
	for (size_t i = 0; !strcmp(argv[1], "late") && i < 100; i++)
		CHECK(!pthread_key_create(&others[i], NULL));
	if (!strcmp(argv[1], "behind"))
		CHECK(!pthread_create(&threads[0], NULL, nothing, NULL) &&
		      !pthread_join(threads[0], NULL));
	CHECK(!pthread_key_create(&key, take_down));
	for (int i = 0; asprof_agent_running && i < 30000 && !asprof_agent_running(); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&threads[i], NULL, in_thread, &threads[i]));
		for (size_t i = 0; i < THREADS; i++)
			CHECK(!pthread_join(threads[i], NULL));
	}
	CHECK(atomic_load(&calls) == 2 * THREADS * ROUNDS);
	wait_for_timers();
	puts("ok");
	return 0;
}
