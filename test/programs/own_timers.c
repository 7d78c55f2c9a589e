/* A program that profiles itself: handlers for SIGPROF and SIGVTALRM, by setitimer(2) each STEP_MS
 * of CPU time, set before the agent's engine starts (early), after it (late), or not at all (none).
 * It uses BURN_MS. "clone" uses CPU time in a thread by clone(2), which no interposer sees, for
 * CLONE_MS of wall time and at least CLONE_CPU_MS of CPU time. "blocked" uses it in a thread that
 * inherited both signals blocked: status 8 if they are not blocked there.
 * Usage: own_timers early|late|none|clone|blocked
 *
 * Prints the percentage of expected signals: SIGPROF, SIGVTALRM. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define STEP_MS      10
#define BURN_MS      1000
#define CLONE_MS     3200
#define CLONE_CPU_MS 300
#define STACK_BYTES  (64u << 10)

static atomic_int profs, virtuals;
static _Atomic pid_t thread_id;

static void count(int signo)
{
	atomic_fetch_add(signo == SIGPROF ? &profs : &virtuals, 1);
}

static void fail(const char *what)
{
	perror(what);
	exit(9);
}

static void set_timers(void)
{
	struct itimerval each = { .it_interval.tv_usec = STEP_MS * 1000,
				  .it_value.tv_usec = STEP_MS * 1000 };
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };

	if (sigaction(SIGPROF, &action, NULL) || sigaction(SIGVTALRM, &action, NULL) ||
	    setitimer(ITIMER_PROF, &each, NULL) || setitimer(ITIMER_VIRTUAL, &each, NULL))
		fail("timers");
}

/* By system calls alone: the C library may not know the thread. */
static void burn(clockid_t clock, long ms)
{
	struct timespec start, now;

	syscall(SYS_clock_gettime, clock, &start);
	do
		syscall(SYS_clock_gettime, clock, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

__attribute__((noinline)) static int in_clone(void *unused)
{
	burn(CLOCK_MONOTONIC, CLONE_MS);
	burn(CLOCK_THREAD_CPUTIME_ID, CLONE_CPU_MS);
	(void)unused;
	return 0;
}

__attribute__((noinline)) static void in_main(void)
{
	burn(CLOCK_THREAD_CPUTIME_ID, BURN_MS);
	atomic_signal_fence(memory_order_seq_cst); /* a call, not a jump */
}

static void wait_for_clone(void)
{
	static _Alignas(16) char stack[STACK_BYTES];
	pid_t id;

	if (clone(in_clone, stack + STACK_BYTES,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		  NULL, &thread_id, NULL, &thread_id) < 0)
		fail("clone");
	while ((id = atomic_load(&thread_id)))
		syscall(SYS_futex, &thread_id, FUTEX_WAIT, id, NULL, NULL, 0);
}

static void *in_thread(void *unused)
{
	sigset_t mask;

	in_main();
	if (pthread_sigmask(SIG_BLOCK, NULL, &mask) || !sigismember(&mask, SIGPROF) ||
	    !sigismember(&mask, SIGVTALRM))
		exit(8);
	return unused;
}

static void burn_blocked(void)
{
	pthread_t thread;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGPROF);
	sigaddset(&mask, SIGVTALRM);
	if (pthread_sigmask(SIG_BLOCK, &mask, NULL) ||
	    pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		fail("a thread");
}

int main(int argc, char **argv)
{
	struct timespec spent;
	double steps;
	const char *when = argc > 1 ? argv[1] : "none";

	if (!strcmp(when, "early"))
		set_timers();
	wait_for_agent(30000);
	if (!strcmp(when, "late"))
		set_timers();
	if (!strcmp(when, "clone"))
		wait_for_clone();
	else if (!strcmp(when, "blocked"))
		burn_blocked();
	else
		in_main();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	steps = ((double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6) / STEP_MS;
	printf("%.0f %.0f\n", 100 * profs / steps, 100 * virtuals / steps);
	return 0;
}
