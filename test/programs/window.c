/* Sends a signal of the program at each instruction between the end of a sample's handler, which
 * has interrupted a waiting call, and the restart of the call: each must end the call. The first
 * argument is the sampler's signal. Prints "ok"; or "no ptrace". */
#include <elf.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

/* Longer than the test lasts; and for how long a call that is not ended is watched. */
#define WAIT_S   1000
#define WATCH_MS 10000

/* Maximum length of the window, in instructions. */
#define MOST_STEPS 5000

static const struct timespec wait_time = { .tv_sec = WAIT_S };
static int quiet, epfd, receiver;
static sem_t semaphore;

static long do_poll(void)
{
	struct pollfd fd = { .fd = quiet, .events = POLLIN };

	return poll(&fd, 1, WAIT_S * 1000);
}

static long do_poll_for_ever(void)
{
	struct pollfd fd = { .fd = quiet, .events = POLLIN };

	return poll(&fd, 1, -1);
}

static long do_select(void)
{
	struct timeval time = { .tv_sec = WAIT_S };

	return select(0, NULL, NULL, NULL, &time);
}

static long do_epoll_wait(void)
{
	struct epoll_event event;

	return epoll_wait(epfd, &event, 1, -1);
}

static long do_nanosleep(void)
{
	return nanosleep(&wait_time, NULL);
}

static long do_recv(void)
{
	char byte;

	return recv(receiver, &byte, 1, 0);
}

static long do_sem_timedwait(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_S;
	return sem_timedwait(&semaphore, &end);
}

static long do_read(void)
{
	char byte;

	return read(quiet, &byte, 1);
}

static const struct wait {
	const char *name;
	long (*call)(void);
	int flags; /* of the handler */
	int every; /* instructions; more than one if it would take long, but fewer than the last ones before the system call, in which no code can check any more */
} waits[] = {
	{ "poll", do_poll, SA_RESTART, 5 },
	{ "poll for ever", do_poll_for_ever, SA_RESTART, 1 },
	{ "select", do_select, SA_RESTART, 7 },
	{ "epoll_wait", do_epoll_wait, SA_RESTART, 1 },
	{ "nanosleep", do_nanosleep, SA_RESTART, 5 },
	{ "recv", do_recv, SA_RESTART, 7 },
	{ "sem_timedwait", do_sem_timedwait, SA_RESTART, 31 },
	{ "read", do_read, 0, 1 },
};

/* Messages of the traced process. */
static struct report {
	volatile long result;
	volatile int error, signals;
} * report;

static int is_wait(long number)
{
	switch (number) {
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_recvfrom:
	case SYS_futex:
	case SYS_read:
		return 1;
	}
	return 0;
}

static void on_alarm(int signo)
{
	(void)signo;
	report->signals++;
}

static void set_up(void)
{
	struct timeval time = { .tv_sec = WAIT_S };
	int ends[2];

	CHECK(!pipe(ends));
	quiet = ends[0];
	epfd = epoll_create1(0);
	CHECK(epfd >= 0);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	receiver = ends[0];
	CHECK(!setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	CHECK(!sem_init(&semaphore, 0, 0));
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(report != MAP_FAILED);
}

static void be_traced(const struct wait *wait)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = wait->flags };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	CHECK(!sigaction(SIGALRM, &action, NULL));
	for (;;) {
		raise(SIGSTOP);
		report->signals = 0;
		report->result = wait->call();
		report->error = errno;
	}
}

static void on_watch(int signo)
{
	(void)signo;
}

/* Wait until it stops, and return why; -1 if it waits and does not stop. */
static int next_stop(pid_t pid)
{
	int status;
	pid_t stopped = waitpid(pid, &status, 0);

	if (stopped == -1 && errno == EINTR)
		return -1;
	CHECK(stopped == pid && WIFSTOPPED(status));
	return status >> 8;
}

/* How long a round is watched; its signal is repeated, as it might fall between two
 * waits. */
static void watch(int ms)
{
	struct itimerval every = { { 0, 100000 }, { ms / 1000, 0 } };

	CHECK(!setitimer(ITIMER_REAL, &every, NULL));
}

static int go(pid_t pid, enum __ptrace_request how, int signo)
{
	CHECK(!ptrace(how, pid, NULL, (void *)(long)signo));
	return next_stop(pid);
}

#define SYSTEM_CALL (SIGTRAP | 0x80)

static struct user_regs_struct registers_of(pid_t pid)
{
	struct user_regs_struct registers;
	struct iovec place = { &registers, sizeof(registers) };

	CHECK(!ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &place));
	return registers;
}

/* At a stop of PTRACE_SYSCALL. */
static long call_number(pid_t pid)
{
	struct user_regs_struct registers = registers_of(pid);

#if defined(__x86_64__)
	return (long)registers.orig_rax;
#elif defined(__aarch64__)
	return (long)registers.regs[8];
#endif
}

/* The next instruction is a waiting call. */
static bool is_about_to_wait(pid_t pid)
{
	struct user_regs_struct registers = registers_of(pid);
	long code;

#if defined(__x86_64__)
	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, pid, (void *)registers.rip, NULL);
	CHECK(!errno);
	return (code & 0xffff) == 0x050f && is_wait((long)registers.rax);
#elif defined(__aarch64__)
	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, pid, (void *)registers.pc, NULL);
	CHECK(!errno);
	return (code & 0xffffffff) == 0xd4000001 && is_wait((long)registers.regs[8]);
#endif
}

/* Continue to the beginning of a call that is WANTED, through signals. */
static void on_to(pid_t pid, int (*wanted)(long number))
{
	int stop = go(pid, PTRACE_SYSCALL, 0);

	while (stop != SYSTEM_CALL || !wanted(call_number(pid))) {
		CHECK(stop != -1);
		stop = go(pid, PTRACE_SYSCALL, stop == SYSTEM_CALL ? 0 : stop);
	}
}

static int is_return(long number)
{
	return number == SYS_rt_sigreturn;
}

/* One round: the signal comes STEPS instructions after the sample's handler. Returns false if that
 * is after the restart of the call. */
static bool ends_it(pid_t pid, const struct wait *wait, int sampler, int steps)
{
	bool within = true;
	int stop;

	watch(WATCH_MS);
	on_to(pid, is_wait);
	/* It is pending, and interrupts the call as soon as that would wait. */
	CHECK(!syscall(SYS_tgkill, pid, pid, sampler));
	on_to(pid, is_return);
	for (int i = 0; i < steps && within; i++) {
		within = !i || !is_about_to_wait(pid);
		if (within)
			CHECK(go(pid, PTRACE_SINGLESTEP, 0) == SIGTRAP);
	}
	CHECK(!syscall(SYS_tgkill, pid, pid, SIGALRM));
	stop = go(pid, PTRACE_CONT, 0);
	while (stop != SIGSTOP && stop != -1)
		stop = go(pid, PTRACE_CONT, stop == SYSTEM_CALL ? 0 : stop);
	if (stop == -1 || report->result != -1 || report->error != EINTR || !report->signals) {
		printf("%s: not ended %d instructions behind a sample: %ld, error %d, %d signals\n",
		       wait->name, steps, stop == -1 ? 99 : report->result, report->error,
		       report->signals);
		kill(pid, SIGKILL);
		exit(1);
	}
	watch(0);
	return within;
}

static void try_each_instruction(const struct wait *wait, int sampler)
{
	pid_t pid = fork();
	int status, steps = 0;

	CHECK(pid >= 0);
	if (!pid)
		be_traced(wait);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		puts("no ptrace");
		exit(0);
	}
	CHECK(WIFSTOPPED(status));
	CHECK(!ptrace(PTRACE_SETOPTIONS, pid, NULL,
		      (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)));
	while (ends_it(pid, wait, sampler, steps)) {
		steps += wait->every;
		CHECK(steps < MOST_STEPS);
	}
	fprintf(stderr, "%s: %d instructions\n", wait->name, steps);
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
}

int main(int argc, char **argv)
{
	int sampler = argc > 1 ? atoi(argv[1]) : SIGRTMAX;
	struct sigaction action = { .sa_handler = on_watch };

	set_up();
	CHECK(!sigaction(SIGALRM, &action, NULL));
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (argc < 3 || !strcmp(argv[2], waits[i].name))
			try_each_instruction(&waits[i], sampler);
	puts("ok");
	return 0;
}
