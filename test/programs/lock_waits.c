/* Threads that wait for locks, and measure these waits themselves.
 *
 *   lock_waits contend PLUGIN SECONDS   prints for each place the seconds of its waits; PLUGIN is lock_plugin.c
 *   lock_waits checks PLUGIN            prints the results of locks of all kinds
 *   lock_waits pairs MILLIONS THREADS   prints the nanoseconds for a pair of lock and unlock of a free mutex */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define NOINLINE __attribute__((noinline, noclone))
#define MS       1000000L

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pause_us(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * MS;
	if (t.tv_nsec >= 1000 * MS) {
		t.tv_nsec -= 1000 * MS;
		t.tv_sec++;
	}
	return t;
}

/* ---- Contention ---- */

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER,
		       plugin_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static int (*plugin_lock)(pthread_mutex_t *mutex);

/* Each returns the seconds that it waited. (The statement after the call keeps the function in the stack.) */
#define PLACE(name, call)             \
	NOINLINE double name(void)    \
	{                             \
		double start = now(); \
                                      \
		CHECK(!(call));       \
		return now() - start; \
	}

PLACE(locks_log, pthread_mutex_lock(&log_mutex))
PLACE(locks_log_for_a_time,
      pthread_mutex_timedlock(&log_mutex, &(struct timespec){ .tv_sec = time(NULL) + 100 }))
PLACE(reads_table, pthread_rwlock_rdlock(&table_lock))
PLACE(writes_table, pthread_rwlock_wrlock(&table_lock))
PLACE(locks_plugin, plugin_lock(&plugin_mutex))

NOINLINE void holds(long us)
{
	pause_us(us);
	__asm__ volatile("");
}

static int unlocks_log(void)
{
	return pthread_mutex_unlock(&log_mutex);
}

static int unlocks_table(void)
{
	return pthread_rwlock_unlock(&table_lock);
}

static int unlocks_plugin(void)
{
	return pthread_mutex_unlock(&plugin_mutex);
}

static const struct place {
	const char *name;
	double (*wait)(void);
	int (*unlock)(void);
} places[] = {
	{ "locks_log", locks_log, unlocks_log },
	{ "locks_log_for_a_time", locks_log_for_a_time, unlocks_log },
	{ "reads_table", reads_table, unlocks_table },
	{ "writes_table", writes_table, unlocks_table },
	{ "locks_plugin", locks_plugin, unlocks_plugin },
};

#define PLACES  (sizeof(places) / sizeof(*places))
#define THREADS 8

static double waited[THREADS][PLACES], until;

static void *contends(void *argument)
{
	size_t thread = (size_t)argument;
	unsigned seed = (unsigned)thread;

	while (now() < until) {
		size_t place = (size_t)rand_r(&seed) % PLACES;

		waited[thread][place] += places[place].wait();
		holds(500 + rand_r(&seed) % 1500);
		CHECK(!places[place].unlock());
	}
	return NULL;
}

static void *symbol_of(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW), *symbol;

	CHECK(handle);
	symbol = dlsym(handle, name);
	CHECK(symbol);
	return symbol;
}

static void contend(double seconds, const char *plugin)
{
	pthread_t threads[THREADS];

	plugin_lock = (int (*)(pthread_mutex_t *))symbol_of(plugin, "plugin_lock");
	until = now() + seconds;
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, contends, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	for (size_t i = 0; i < PLACES; i++) {
		double all = 0;

		for (size_t j = 0; j < THREADS; j++)
			all += waited[j][i];
		printf("%s %.6f\n", places[i].name, all);
	}
}

/* ---- Free locks ---- */

static long pairs_of_each;

static void *pairs(void *unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (long i = 0; i < pairs_of_each; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void print_pairs(double millions, int count)
{
	pthread_t threads[THREADS];
	struct timespec before, after;

	CHECK(count <= THREADS);
	pairs_of_each = (long)(millions * 1e6);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	for (int i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], NULL, pairs, NULL));
	for (int i = 0; i < count; i++)
		CHECK(!pthread_join(threads[i], NULL));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	printf("%.3f\n", ((double)(after.tv_sec - before.tv_sec) * 1e9 +
			  (double)(after.tv_nsec - before.tv_nsec)) /
				 ((double)pairs_of_each * count));
}

/* ---- Results ---- */

static pthread_mutex_t of_kind;
static _Atomic int is_held, is_wanted;

static void *holds_mutex(void *dies)
{
	CHECK(!pthread_mutex_lock(&of_kind));
	is_held = 1;
	while (!is_wanted)
		pause_us(500);
	pause_us(20000);
	if (!dies)
		CHECK(!pthread_mutex_unlock(&of_kind));
	return NULL;
}

static void hold(pthread_t *thread, void *dies)
{
	is_held = is_wanted = 0;
	CHECK(!pthread_create(thread, NULL, holds_mutex, dies));
	while (!is_held)
		pause_us(100);
}

static void check_kind(const char *name, int type, int protocol, int robust)
{
	pthread_mutexattr_t attributes;
	struct timespec soon, late = in_ms(CLOCK_REALTIME, 100000);
	pthread_t thread;
	int err;

	CHECK(!pthread_mutexattr_init(&attributes) &&
	      !pthread_mutexattr_settype(&attributes, type));
	if (pthread_mutexattr_setprotocol(&attributes, protocol) ||
	    pthread_mutexattr_setrobust(&attributes, robust) ||
	    pthread_mutex_init(&of_kind, &attributes)) {
		printf("%s: not supported\n", name);
		return;
	}
	errno = 77;
	hold(&thread, NULL);
	soon = in_ms(CLOCK_REALTIME, 10);
	printf("%s: busy, a short limit: %s\n", name,
	       strerror(pthread_mutex_timedlock(&of_kind, &soon)));
#ifdef __GLIBC__ /* musl's spins until the lock is free */
	printf("%s: busy, invalid: %s\n", name,
	       strerror(pthread_mutex_timedlock(&of_kind, &(struct timespec){ .tv_nsec = -1 })));
#endif
	is_wanted = 1;
	printf("%s: busy, a long limit: %s\n", name,
	       strerror(pthread_mutex_timedlock(&of_kind, &late)));
	if (type != PTHREAD_MUTEX_NORMAL)
		printf("%s: again: %s\n", name, strerror(pthread_mutex_lock(&of_kind)));
	if (type == PTHREAD_MUTEX_RECURSIVE)
		CHECK(!pthread_mutex_unlock(&of_kind));
	CHECK(!pthread_mutex_unlock(&of_kind) && !pthread_join(thread, NULL));
	hold(&thread, NULL);
	is_wanted = 1;
	err = pthread_mutex_lock(&of_kind);
	printf("%s: busy: %s\n", name, strerror(err));
	CHECK(!pthread_mutex_unlock(&of_kind) && !pthread_join(thread, NULL));
	if (robust == PTHREAD_MUTEX_ROBUST) {
		hold(&thread, &is_held);
		is_wanted = 1;
		err = pthread_mutex_lock(&of_kind);
		printf("%s: its owner dies: %s, %s\n", name, strerror(err),
		       strerror(pthread_mutex_consistent(&of_kind)));
		CHECK(!pthread_mutex_unlock(&of_kind) && !pthread_join(thread, NULL));
	}
	CHECK(errno == 77);
	CHECK(!pthread_mutex_destroy(&of_kind));
}

static void *reads_for_a_time(void *unused)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);

	printf("read a written lock: %s\n",
	       strerror(pthread_rwlock_timedrdlock(&table_lock, &soon)));
	printf("write a written lock: %s\n",
	       strerror(pthread_rwlock_timedwrlock(&table_lock, &soon)));
	return unused;
}

static void checks(const char *plugin)
{
	pthread_t thread;

	check_kind("normal", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	check_kind("recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	check_kind("error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE,
		   PTHREAD_MUTEX_STALLED);
	check_kind("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	check_kind("inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	check_kind("robust and inheriting", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT,
		   PTHREAD_MUTEX_ROBUST);
	CHECK(!pthread_rwlock_wrlock(&table_lock));
	printf("read an own lock: %s\n", strerror(pthread_rwlock_tryrdlock(&table_lock)));
	CHECK(!pthread_create(&thread, NULL, reads_for_a_time, NULL) &&
	      !pthread_join(thread, NULL));
	CHECK(!pthread_rwlock_unlock(&table_lock));
	printf("the plugin %s its own symbol\n",
	       ((int (*)(void))symbol_of(plugin, "plugin_finds_own"))() ? "finds" : "misses");
}

int main(int argc, char **argv)
{
	CHECK(argc >= 3);
	if (!strcmp(argv[1], "contend"))
		contend(atof(argv[3]), argv[2]);
	else if (!strcmp(argv[1], "pairs"))
		print_pairs(atof(argv[2]), atoi(argv[3]));
	else
		checks(argv[2]);
	return 0;
}
