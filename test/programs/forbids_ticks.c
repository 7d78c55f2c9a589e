/* Computes, then forbids itself the timestamp counter, by prctl(2) or, with "raw", by syscall(2).
 * With "first" it forbids the counter before all. Then it computes, waits and allocates in the main
 * thread and in a new one. Prints how often the counter was read nevertheless: never by the
 * program, so by other code in its threads. Usage: forbids_ticks [raw|first] */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BURN_MS 500

static atomic_int faults;

/* The counter is permitted from then on. */
static void on_fault(int signo)
{
	(void)signo;
	atomic_fetch_add(&faults, 1);
	syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
}

/* (The C library reads most clocks by the counter.) */
static long spent_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

__attribute__((noinline)) static void *burn(void *unused)
{
	long end = spent_ms() + BURN_MS;

	while (spent_ms() < end) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		free(malloc(100000));
		poll(NULL, 0, 1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int failed;
	const char *how = argc > 1 ? argv[1] : "";

	signal(SIGSEGV, on_fault);
	if (strcmp(how, "first"))
		burn(NULL);
	failed = !strcmp(how, "raw") ? (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)
				     : prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	if (failed)
		return 77;
	pthread_create(&thread, NULL, burn, NULL);
	burn(NULL);
	pthread_join(thread, NULL);
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	printf("%d\n", atomic_load(&faults));
	return 0;
}
