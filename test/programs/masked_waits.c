/* Waits with a mask that blocks SIGUSR1, which arrives meanwhile. It stays pending until the wait
 * ends, by its time or by other signals, and then it is no longer blocked. Prints "ok", with a profiler's signals as
 * without. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "engine/sample/ring_wait.h"
#include "test/programs/check.h"

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

#define SENT_MS 5
#define END_MS  30
#define LONG_MS 60000

static int epfd, wait_ms;
static struct timespec wait_time;
static sigset_t mask;
static volatile int order, handled_at, ended_at;
/* Handlers of SIGALRM that found SIGUSR1 in the thread's mask, and all of them. (A few may begin outside of the call that
 * waits, before it is repeated.) */
static volatile int found_blocked, found;
static bool jumps;
static sigjmp_buf before;

static void on_sent(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	handled_at = ++order;
}

static void on_end(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	ended_at = ++order;
	found_blocked += sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1);
	found++;
	if (jumps)
		siglongjmp(before, 1);
}

static void on_end_too(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	order++;
}

static int do_ppoll(void)
{
	return ppoll(NULL, 0, &wait_time, &mask);
}

static int do_pselect(void)
{
	return pselect(0, NULL, NULL, NULL, &wait_time, &mask);
}

static int do_epoll_pwait(void)
{
	struct epoll_event event;

	return epoll_pwait(epfd, &event, 1, wait_ms, &mask);
}

static int do_sigsuspend(void)
{
	return sigsuspend(&mask);
}

/* glibc's sigpause(3) of BSD. */
int bsd_sigpause(int signals) __asm__("sigpause");

static int do_sigpause(void)
{
	int signals;

	memcpy(&signals, &mask, sizeof(signals));
	return bsd_sigpause(signals);
}

static int raw_ppoll(void)
{
	struct timespec time = wait_time;

	return (int)syscall(SYS_ppoll, NULL, 0, &time, &mask, 8);
}

static int raw_pselect6(void)
{
	struct timespec time = wait_time;
	uintptr_t pair[] = { (uintptr_t)&mask, 8 };

	return (int)syscall(SYS_pselect6, 0, NULL, NULL, NULL, &time, pair);
}

static int raw_epoll_pwait(void)
{
	struct epoll_event event;

	return (int)syscall(SYS_epoll_pwait, epfd, &event, 1, wait_ms, &mask, 8);
}

static int ring = -1;

static int raw_ring_enter(void)
{
	return (int)syscall(SYS_io_uring_enter, ring, 0, 1, RING_WAITS, &mask, 8);
}

static int raw_sigsuspend(void)
{
	return (int)syscall(SYS_rt_sigsuspend, &mask, 8);
}

static const struct wait {
	const char *name;
	int (*call)(void);
	bool for_ever;
} waits[] = {
	{ "ppoll", do_ppoll, false },
	{ "pselect", do_pselect, false },
	{ "epoll_pwait", do_epoll_pwait, false },
	{ "sigsuspend", do_sigsuspend, true },
	{ "sigpause", do_sigpause, true },
	{ "ppoll by number", raw_ppoll, false },
	{ "pselect6 by number", raw_pselect6, false },
	{ "epoll_pwait by number", raw_epoll_pwait, false },
	{ "sigsuspend by number", raw_sigsuspend, true },
	{ "io_uring_enter by number", raw_ring_enter, true },
};

#define TIMERS 3

/* The second and the third timer expire at the same moment. */
static void start(const timer_t timers[TIMERS], int ends_ms, bool both_end)
{
	const int ms[TIMERS] = { SENT_MS, ends_ms, both_end ? ends_ms : 0 };
	struct timespec now;

	order = handled_at = ended_at = 0;
	wait_ms = ends_ms ? LONG_MS : END_MS;
	wait_time = (struct timespec){ wait_ms / 1000, wait_ms % 1000 * 1000000L };
	CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
	for (int i = 0; i < TIMERS; i++) {
		struct itimerspec at = { .it_value = now };

		at.it_value.tv_nsec += ms[i] * 1000000L;
		at.it_value.tv_sec += at.it_value.tv_nsec / 1000000000;
		at.it_value.tv_nsec %= 1000000000;
		if (!ms[i])
			at = (struct itimerspec){ 0 };
		CHECK(!timer_settime(timers[i], TIMER_ABSTIME, &at, NULL));
	}
}

static void check(const struct wait *wait, const char *how, bool is_right)
{
	sigset_t now;

	CHECK(!sigprocmask(SIG_SETMASK, NULL, &now));
	if (is_right && !sigismember(&now, SIGUSR1))
		return;
	printf("%s, %s: errno %d, SIGUSR1 %d, SIGALRM %d, blocked %d\n", wait->name, how, errno,
	       handled_at, ended_at, sigismember(&now, SIGUSR1));
	exit(1);
}

static void try(const struct wait *wait, const timer_t timers[TIMERS])
{
	int result;

	if (!wait->for_ever) {
		start(timers, 0, false);
		result = wait->call();
		check(wait, "its time", !result && handled_at == 1);
	}
	start(timers, END_MS, false);
	result = wait->call();
	check(wait, "a signal", result == -1 && errno == EINTR && ended_at == 1 && handled_at == 2);
	start(timers, END_MS, true);
	result = wait->call();
	check(wait, "two signals", result == -1 && errno == EINTR && ended_at);
	jumps = true;
	start(timers, END_MS, false);
	if (!sigsetjmp(before, 1))
		wait->call();
	jumps = false;
	check(wait, "a jump", ended_at == 1 && handled_at == 2);
}

int main(void)
{
	static const struct {
		int signo;
		void (*handler)(int signo, siginfo_t *info, void *context);
	} signals[TIMERS] = { { SIGUSR1, on_sent }, { SIGALRM, on_end }, { SIGUSR2, on_end_too } };
	static uint32_t parameters[30]; /* struct io_uring_params */
	timer_t timers[TIMERS];

	for (int i = 0; i < TIMERS; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
					  .sigev_signo = signals[i].signo };

		CHECK(!sigaction(signals[i].signo,
				 &(struct sigaction){ .sa_sigaction = signals[i].handler,
						      .sa_flags = SA_SIGINFO },
				 NULL));
		CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]));
	}
	epfd = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epfd >= 0);
	ring = (int)syscall(SYS_io_uring_setup, 1, parameters);
	for (size_t i = 0; i < 2 * sizeof(waits) / sizeof(*waits); i++) {
		/* (In a system call by number, this mask also blocks the profiler's signals.) */
		sigfillset(&mask);
		sigdelset(&mask, SIGALRM);
		sigdelset(&mask, SIGUSR2);
		if (i % 2) {
			sigemptyset(&mask);
			sigaddset(&mask, SIGUSR1);
		}
		if (ring >= 0 || waits[i / 2].call != raw_ring_enter)
			try(&waits[i / 2], timers);
	}
	if (found_blocked > found / 2)
		printf("%d of %d handlers found SIGUSR1 blocked\n", found_blocked, found);
	else
		puts("ok");
	return found_blocked > found / 2;
}
