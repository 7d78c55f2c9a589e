/* A program's whole view of signals, for all of them: dispositions, masks, and sets that it waits
 * for. Prints "ok"; all checks pass with a sampler as without. The first argument is the sampler's
 * signal: the program uses it itself at the end. The others are signals that a sampler may visibly
 * handle, because it can cause them. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

static volatile sig_atomic_t got;

static void on_signal(int signo)
{
	got = signo;
}

/* Two that the C library keeps for itself. */
static int is_usable(int signo)
{
	return signo != SIGKILL && signo != SIGSTOP && (signo < 32 || signo >= SIGRTMIN);
}

static void dispositions(const sigset_t *spared)
{
	struct sigaction action, ignore = { .sa_handler = SIG_IGN }, fallback = { 0 };

	for (int signo = 1; signo <= 64; signo++) {
		if (!is_usable(signo) || sigismember(spared, signo))
			continue;
		CHECK(!sigaction(signo, NULL, &action));
		CHECK(action.sa_handler == SIG_DFL && !action.sa_flags);
		CHECK(!sigaction(signo, &ignore, &action));
		CHECK(action.sa_handler == SIG_DFL);
		CHECK(!sigaction(signo, &fallback, &action));
		CHECK(action.sa_handler == SIG_IGN);
		CHECK(signal(signo, SIG_IGN) == SIG_DFL);
		CHECK(sysv_signal(signo, SIG_DFL) == SIG_IGN);
		CHECK(signal(signo, SIG_DFL) == SIG_DFL);
	}
	errno = 0;
	CHECK(signal(65, SIG_DFL) == SIG_ERR && errno == EINVAL);
	CHECK(sigaction(0, NULL, &action) && errno == EINVAL);
	errno = 0;
}

static void own_handler(int signo)
{
	struct sigaction action = { .sa_handler = on_signal }, old;

	CHECK(!sigaction(signo, &action, &old) && old.sa_handler == SIG_DFL);
	CHECK(!sigaction(signo, NULL, &old) && old.sa_handler == on_signal);
	got = 0;
	CHECK(!raise(signo) && got == signo);
	CHECK(signal(signo, SIG_DFL) == on_signal);
	CHECK(signal(signo, on_signal) == SIG_DFL);
	CHECK(signal(signo, SIG_DFL) == on_signal);
	errno = 0;
}

static void on_information(int signo, siginfo_t *info, void *context)
{
	CHECK(info->si_signo == signo && info->si_pid == getpid() && context);
	got = signo;
}

/* The arguments of a handler, and the kernel's view of it. */
static void own_action(int signo)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER }, old;

	action.sa_sigaction = on_information;
	sigaddset(&action.sa_mask, SIGUSR2);
	CHECK(!sigaction(signo, &action, NULL));
	CHECK(!sigaction(signo, NULL, &old) && old.sa_sigaction == on_information);
	CHECK((old.sa_flags & (SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_RESTART)) ==
	      action.sa_flags);
	CHECK(sigismember(&old.sa_mask, SIGUSR2) && !sigismember(&old.sa_mask, SIGUSR1));
	got = 0;
	CHECK(!kill(getpid(), signo) && got == signo);
	CHECK(!sigaction(signo, NULL, &old) && old.sa_handler == SIG_DFL);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	CHECK(!siginterrupt(signo, 1) && signal(signo, on_signal) == SIG_DFL);
	CHECK(!siginterrupt(signo, 0) && signal(signo, SIG_DFL) == on_signal);
#pragma GCC diagnostic pop
	errno = 0;
}

static int is_full(const sigset_t *set)
{
	for (int signo = 1; signo <= 64; signo++)
		if (is_usable(signo) && !sigismember(set, signo))
			return 0;
	return 1;
}

static int is_empty(const sigset_t *set)
{
	for (int signo = 1; signo <= 64; signo++)
		if (sigismember(set, signo) == 1)
			return 0;
	return 1;
}

/* A thread inherits its creator's mask. */
static void *look_at_mask(void *set)
{
	pthread_sigmask(SIG_BLOCK, NULL, set);
	return NULL;
}

static void masks(int sampler, const sigset_t *spared)
{
	sigset_t all, one, old;
	pthread_t thread;

	sigfillset(&all);
	sigemptyset(&one);
	sigaddset(&one, sampler);

	CHECK(!sigprocmask(SIG_SETMASK, &all, &old) && is_empty(&old));
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &old) && is_full(&old));
	CHECK(!pthread_create(&thread, NULL, look_at_mask, &old) && !pthread_join(thread, NULL));
	/* async-profiler creates threads without any preload. */
	CHECK(is_full(&old) || !is_empty(spared));
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &one, &old) && is_full(&old));
	CHECK(!pthread_sigmask(SIG_BLOCK, &one, &old) && !sigismember(&old, sampler));
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &old) && is_full(&old));
	sigemptyset(&old);
	CHECK(!sigprocmask(SIG_SETMASK, &old, NULL));
	CHECK(!sigprocmask(SIG_SETMASK, NULL, &old) && is_empty(&old));
}

static void waits(void)
{
	struct timespec time = { .tv_nsec = 100000000 };
	struct signalfd_siginfo info;
	sigset_t all, usr1, old;
	int fd, signo;

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, &old));
	CHECK(sigtimedwait(&all, NULL, &time) == -1 && errno == EAGAIN);
	CHECK(!raise(SIGUSR1) && !sigwait(&all, &signo) && signo == SIGUSR1);
	CHECK(!raise(SIGRTMAX) && sigwaitinfo(&all, NULL) == SIGRTMAX);

	fd = signalfd(-1, &all, SFD_NONBLOCK);
	CHECK(fd >= 0);
	nanosleep(&time, NULL);
	CHECK(read(fd, &info, sizeof(info)) == -1 && errno == EAGAIN);
	CHECK(!raise(SIGUSR2) && read(fd, &info, sizeof(info)) == sizeof(info));
	CHECK(info.ssi_signo == SIGUSR2);
	close(fd);

	/* Blocked outside, unblocked by the call. */
	CHECK(signal(SIGUSR1, on_signal) == SIG_DFL);
	usr1 = all;
	sigdelset(&usr1, SIGUSR1);
	got = 0;
	CHECK(!raise(SIGUSR1) && !got);
	CHECK(sigsuspend(&usr1) == -1 && errno == EINTR && got == SIGUSR1);
	CHECK(signal(SIGUSR1, SIG_DFL) == on_signal);
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
	errno = 0;
}

/* Samples are taken while every signal is blocked. */
static void spin_blocked(void)
{
	struct timespec start, now;
	sigset_t all, old;

	sigfillset(&all);
	CHECK(!sigprocmask(SIG_SETMASK, &all, &old));
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 300);
	CHECK(!sigprocmask(SIG_SETMASK, &old, NULL));
}

static void children(void)
{
	int status;
	FILE *pipe;
	char line[32];

	CHECK(system("exit 5") == 5 << 8);
	CHECK(system("kill -TERM $$") == SIGTERM);
	pipe = popen("echo hello; exit 4", "r");
	CHECK(pipe && fgets(line, sizeof(line), pipe) && !strcmp(line, "hello\n"));
	CHECK(pclose(pipe) == 4 << 8);
	if (!fork())
		_exit(execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL));
	CHECK(wait(&status) > 0 && status == 6 << 8);
	if (!vfork())
		_exit(7);
	CHECK(wait(&status) > 0 && status == 7 << 8);
	errno = 0;
}

/* The signals of a child of vfork(2) are its own. */
static void vfork_child(int signo)
{
	sigset_t all, none, now;
	int status;

	sigfillset(&all);
	sigemptyset(&none);
	CHECK(!sigprocmask(SIG_SETMASK, &none, NULL) && signal(signo, SIG_IGN) == SIG_DFL);
	if (!vfork()) {
		sigprocmask(SIG_SETMASK, &all, NULL);
		signal(signo, SIG_DFL);
		_exit(0);
	}
	CHECK(wait(&status) > 0 && !status);
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &now) && is_empty(&now));
	CHECK(signal(signo, SIG_DFL) == SIG_IGN);
	errno = 0;
}

/* A child that resets all signals, as before it executes a program, does not reset the parent's handler. */
static void vfork_child_resets(int signo)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t one, now;
	int status;

	sigemptyset(&one);
	sigaddset(&one, signo);
	CHECK(!sigaction(signo, &action, NULL));
	if (!vfork()) {
		signal(signo, SIG_DFL);
		_exit(0);
	}
	CHECK(wait(&status) > 0 && !status);
	CHECK(!sigaction(signo, NULL, &action) && action.sa_handler == on_signal);
	CHECK(!sigprocmask(SIG_BLOCK, &one, NULL));
	CHECK(!sigprocmask(SIG_UNBLOCK, &one, &now) && sigismember(&now, signo) == 1);
	CHECK(signal(signo, SIG_DFL) == on_signal);
	errno = 0;
}

int main(int argc, char **argv)
{
	int sampler = argc > 1 ? atoi(argv[1]) : SIGRTMAX;
	sigset_t spared;

	sigemptyset(&spared);
	for (int i = 2; i < argc; i++)
		sigaddset(&spared, atoi(argv[i]));
	dispositions(&spared);
	own_handler(SIGTERM);
	own_handler(SIGINT);
	own_handler(SIGUSR1);
	own_action(SIGUSR1);
	own_action(SIGALRM);
	masks(sampler, &spared);
	waits();
	spin_blocked();
	children();
	vfork_child(sampler);
	own_handler(sampler);
	vfork_child_resets(sampler);
	puts("ok");
	return 0;
}
