/* Waits with a mask that blocks SIGUSR1, which arrives meanwhile. It stays pending until the wait
 * ends, by its time or by another signal. Prints "ok", with a profiler's signals as without. */
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

#include "test/programs/check.h"

#define SENT_MS 5
#define END_MS  30
#define LONG_MS 60000

static int epfd, wait_ms;
static struct timespec wait_time;
static sigset_t mask;
static volatile int order, handled_at, ended_at;
static volatile bool is_blocked_after;
static bool jumps;
static sigjmp_buf before;

static void on_sent(int signo)
{
	(void)signo;
	handled_at = ++order;
}

static void on_end(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	ended_at = ++order;
	is_blocked_after = sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1);
	if (jumps)
		siglongjmp(before, 1);
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
	{ "ppoll by number", raw_ppoll, false },
	{ "pselect6 by number", raw_pselect6, false },
	{ "epoll_pwait by number", raw_epoll_pwait, false },
	{ "sigsuspend by number", raw_sigsuspend, true },
};

static void start(const timer_t timers[2], int ends_ms)
{
	static const int sent_ms = SENT_MS;
	const int ms[] = { sent_ms, ends_ms };

	order = handled_at = ended_at = 0;
	wait_ms = ends_ms ? LONG_MS : END_MS;
	wait_time = (struct timespec){ wait_ms / 1000, wait_ms % 1000 * 1000000L };
	for (int i = 0; i < 2; i++)
		CHECK(!timer_settime(timers[i], 0,
				     &(struct itimerspec){ .it_value.tv_nsec = ms[i] * 1000000L },
				     NULL));
}

static void check(const struct wait *wait, const char *how, bool is_right)
{
	sigset_t now;

	CHECK(!sigprocmask(SIG_SETMASK, NULL, &now));
	if (is_right && !sigismember(&now, SIGUSR1) && !is_blocked_after)
		return;
	printf("%s, %s: errno %d, SIGUSR1 %d, SIGALRM %d, blocked %d %d\n", wait->name, how, errno,
	       handled_at, ended_at, sigismember(&now, SIGUSR1), is_blocked_after);
	exit(1);
}

static void try(const struct wait *wait, const timer_t timers[2])
{
	int result;

	if (!wait->for_ever) {
		start(timers, 0);
		result = wait->call();
		check(wait, "its time", !result && handled_at == 1);
	}
	start(timers, END_MS);
	result = wait->call();
	check(wait, "a signal", result == -1 && errno == EINTR && ended_at == 1 && handled_at == 2);
	jumps = true;
	start(timers, END_MS);
	if (!sigsetjmp(before, 1))
		wait->call();
	jumps = false;
	check(wait, "a jump", ended_at == 1 && handled_at == 2);
}

int main(void)
{
	static const int signals[] = { SIGUSR1, SIGALRM };
	struct sigaction sent = { .sa_handler = on_sent },
			 end = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO };
	timer_t timers[2];

	CHECK(!sigaction(SIGUSR1, &sent, NULL) && !sigaction(SIGALRM, &end, NULL));
	for (int i = 0; i < 2; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signals[i] };

		CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]));
	}
	epfd = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epfd >= 0);
	sigfillset(&mask);
	sigdelset(&mask, SIGALRM);
	for (size_t i = 0; i < 2 * sizeof(waits) / sizeof(*waits); i++)
		try(&waits[i / 2], timers);
	puts("ok");
	return 0;
}
