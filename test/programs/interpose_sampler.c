/* Linked with the interposers into a separate preload: a sampling signal every SAMPLER_US
 * microseconds (2000; 0: none) on the main thread, and the number of samples on stderr at the end.
 * With SAMPLER_SETS_BACK it sets the pc back to restart a call of poll(2). With SAMPLER_FOLLOWED
 * another sampling signal is pending at the end of each sample, and that signal of the program at the
 * end of that one, if the program handles it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/interpose/fatal.h"
#include "preload/interpose/sample.h"
#include "test/programs/hooks.h"

#define SIGNAL   37
#define FOLLOWER 38

/* BLOCKED: number of samples while the program blocked SIGUSR1. */
static int samples, blocked, claimed;
static timer_t timer;
static bool sets_back;
static int followed;

/* As async-profiler does: mov $SYS_poll, %eax; syscall. */
static void set_back(ucontext_t *context)
{
#if defined(__x86_64__)
	static const char poll_call[] = { '\xb8', 7, 0, 0, 0, 0x0f, 0x05 };
	greg_t *registers = context->uc_mcontext.gregs;

	if (registers[REG_RAX] == -EINTR &&
	    !memcmp((const char *)registers[REG_RIP] - sizeof(poll_call), poll_call,
		    sizeof(poll_call)))
		registers[REG_RIP] -= sizeof(poll_call);
#else
	(void)context;
#endif
}

static void send_self(int signo)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signo);
}

static void on_follower(int signo, siginfo_t *info, void *context)
{
	struct sigaction programs;

	(void)signo;
	(void)info;
	(void)context;
	/* Without a handler of the program, the signal would end it. */
	if (followed && !sigaction(followed, NULL, &programs) && programs.sa_handler != SIG_DFL)
		send_self(followed);
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	char byte;

	(void)signo;
	(void)info;
	blocked += sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1);
	/* An engine makes calls that are interposed too. */
	getrandom(&byte, 1, GRND_NONBLOCK);
	errno = EDOM; /* must not be seen */
	samples++;
	if (sets_back)
		set_back(context);
	if (followed)
		send_self(FOLLOWER);
}

static void say(const char *what)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%s: %d samples, %d blocked, %d claimed\n", what,
			      samples, blocked, claimed);

	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		samples = -1;
}

static void process_exiting(enum exiting how)
{
	say(how == EXITING_BY_SIGNAL ? "signal" : "exit");
}

static void signal_claimed(int signo)
{
	static const struct itimerspec never;

	(void)signo;
	timer_settime(timer, 0, &never, NULL);
	claimed++;
}

static bool ignore_broadcast(void)
{
	return false;
}

static const struct interpose_hooks hooks = {
	.thread_started = ignore_thread,
	.thread_ended = ignore,
	.before_last_thread_ends = ignore,
	.process_cloned = ignore,
	.process_exiting = process_exiting,
	.process_exiting_again = ignore,
	.termination_requested = ignore,
	.crashed = ignore_crash,
	.exec_failed = ignore,
	.before_namespace_change = ignore_namespace_change,
	.after_namespace_change = ignore,
	.before_credential_broadcast = ignore_broadcast,
	.after_credential_broadcast = ignore,
	.credentials_lost = ignore,
	.before_sandbox = ignore_armed,
	.before_syscall_dispatch = ignore_armed,
	.before_tsc_is_disabled = ignore,
	.before_landlock = ignore,
	.after_landlock = ignore_landlock,
	.signal_claimed = signal_claimed,
};

__attribute__((constructor)) static void load(void)
{
	const char *us = getenv("SAMPLER_US");
	long period = us ? atol(us) : 2000;
	struct itimerspec every = { .it_interval = { .tv_nsec = period * 1000 },
				    .it_value = { .tv_nsec = period * 1000 } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL };

	sets_back = getenv("SAMPLER_SETS_BACK");
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	interpose_set_hooks(&hooks);
	exit_arm();
	fatal_install();
	if (getenv("SAMPLER_FOLLOWED"))
		followed = atoi(getenv("SAMPLER_FOLLOWED"));
	if (sample_install(FOLLOWER, on_follower, 0))
		abort();
	if (sample_install(SIGNAL, on_signal, 0) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		abort();
}

__attribute__((destructor)) static void unload(void)
{
	exit_notify(EXITING_NORMALLY);
}
