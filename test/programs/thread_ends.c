/* Threads end all the time. According to the argument, another thread changes the user of all of
 * them meanwhile, for which each must handle a signal ("user"); or the last action of each is a
 * fault, which a handler repairs ("fault"). Prints "ok". */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define ENDERS  2
#define FAULTS  200
#define WORK_MS 700 /* longer than an agent takes to start */

static volatile int stopped;
static pthread_key_t last;

static void *nothing(void *unused)
{
	return unused;
}

static void *have_some_end(void *unused)
{
	pthread_t thread;

	while (!stopped) {
		CHECK(!pthread_create(&thread, NULL, nothing, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
	return unused;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* To the same user, so that it needs no right. */
static void change_user(void)
{
	pthread_t threads[ENDERS];
	long until = now_ms() + WORK_MS;

	for (int i = 0; i < ENDERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, have_some_end, NULL));
	while (now_ms() < until)
		for (int i = 0; i < 10; i++)
			CHECK(!setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
	stopped = 1;
	for (int i = 0; i < ENDERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static void mend(int signo, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)signo;
	(void)context;
	if (mprotect((void *)((uintptr_t)info->si_addr & ~(page - 1)), page,
		     PROT_READ | PROT_WRITE))
		_exit(3);
}

static void write_there(void *place)
{
	*(volatile char *)place = 1;
}

static void *leave(void *unused)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *place = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(place != MAP_FAILED);
	CHECK(!pthread_setspecific(last, place));
	return unused;
}

static void fault(void)
{
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	CHECK(!sigaction(SIGSEGV, &action, NULL));
	CHECK(!pthread_key_create(&last, write_there));
	for (int i = 0; i < FAULTS; i++) {
		CHECK(!pthread_create(&thread, NULL, leave, NULL));
		CHECK(!pthread_join(thread, NULL));
		usleep(1000); /* so that it continues while there is sampling */
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (!strcmp(argv[1], "user"))
		change_user();
	else
		fault();
	puts("ok");
	return 0;
}
