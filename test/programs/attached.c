/* A program that an agent is put into while it runs. Threads make calls that wait and check what they return; others
 * compute, with registers of all kinds, and compare the results. At the end of its input it prints "ok".
 *
 *   attached [THREADS]  that many more threads sleep
 *   attached signals    it sends itself 1,000 signals a second and counts them
 *   attached children   it forks, spawns and executes children all the time, and checks their statuses */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic bool is_ended, has_sent_all, has_children;
static _Atomic long calls, results, mistakes;
static _Atomic long sent, received;
static pthread_t computing, sending;
static int wake_pipe[2], epoll_fd;
static sem_t never;

static void check(bool is_right, const char *call, long result)
{
	atomic_fetch_add(&calls, 1);
	if (is_right)
		return;
	atomic_fetch_add(&mistakes, 1);
	printf("%s: %ld, %s\n", call, result, result < 0 ? strerror(errno) : "");
}

static struct timespec in_20_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += 20000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* With children: if a thread blocks SIGCHLD while its child ends (posix_spawn(3) does so, and a handler of samples), the
 * kernel wakes another thread, though the signal is ignored by default. */
static void *wait_in_turn(void *unused)
{
	static const struct timespec moment = { .tv_nsec = 20000000 };
	struct epoll_event event;
	struct timespec until;
	long result;

	while (!is_ended) {
		result = epoll_wait(epoll_fd, &event, 1, 20);
		check(result == 0 || (has_children && errno == EINTR), "epoll_wait", result);
		result = poll(NULL, 0, 20);
		check(result == 0, "poll", result);
		result = nanosleep(&moment, NULL);
		check(result == 0, "nanosleep", result);
		until = in_20_ms();
		result = sem_timedwait(&never, &until);
		check(result == -1 && errno == ETIMEDOUT, "sem_timedwait", result);
	}
	return unused;
}

static void *read_pipe(void *unused)
{
	char byte;
	long result;

	do {
		result = read(wake_pipe[0], &byte, 1);
		check(result == 1, "read", result);
	} while (!is_ended);
	return unused;
}

static void *write_pipe(void *unused)
{
	static const struct timespec moment = { .tv_nsec = 30000000 };

	while (!is_ended) {
		nanosleep(&moment, NULL);
		check(write(wake_pipe[1], "x", 1) == 1, "write", -1);
	}
	return write(wake_pipe[1], "x", 1) == 1 ? unused : NULL;
}

__attribute__((noipa)) static double hot(void)
{
	double x = 1, sum = 0;
	long n = 3;

	for (int i = 1; i < 20000; i++) {
		x = x * 1.000001 + 1.0 / i;
		n = n * 6364136223846793005 + i;
		sum += x * (double)(n & 1023);
	}
	return sum;
}

static sigset_t signal_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	return set;
}

/* In this thread. It is blocked in threads with calls that a handler would end. */
static void receive_signals(void)
{
	sigset_t set = signal_set();

	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void *compute(void *unused)
{
	const double wanted = hot();

	receive_signals();
	while (!is_ended) {
		check(hot() == wanted, "computing", 0);
		atomic_fetch_add(&results, 1);
	}
	return unused;
}

static void on_signal(int signo)
{
	(void)signo;
	atomic_fetch_add(&received, 1);
}

/* To the main thread, which reads, and to the one that computes. The kernel keeps all signals of this kind, or the call fails. */
static void *send_signals(void *unused)
{
	static const struct timespec moment = { .tv_nsec = 1000000 };

	while (!has_sent_all) {
		nanosleep(&moment, NULL);
		if (!(sent & 1 ? pthread_kill(computing, SIGRTMIN + 3)
			       : sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ 0 })))
			sent++;
	}
	return unused;
}

#define CHILD_STATUS 7

static void *start_children(void *unused)
{
	static char path[] = "/proc/self/exe", child[] = "child";
	char *const words[] = { path, child, NULL };
	int status, err;
	pid_t pid;

	for (unsigned turn = 0; !is_ended; turn++) {
		if (turn & 1) {
			err = posix_spawn(&pid, path, NULL, NULL, words, environ);
			check(!err, "posix_spawn", -err);
		} else {
			pid = fork();
			if (!pid && !(turn & 2))
				execv(path, words);
			if (!pid)
				_exit(CHILD_STATUS);
		}
		check(pid > 0 && waitpid(-1, &status, 0) == pid && WIFEXITED(status) &&
			      WEXITSTATUS(status) == CHILD_STATUS,
		      "a child", status);
	}
	return unused;
}

static void *sleep_long(void *unused)
{
	static const struct timespec second = { .tv_sec = 1 };

	while (!is_ended)
		nanosleep(&second, NULL);
	return unused;
}

/* No child and no signal of a child may appear. */
static void on_child(int signo)
{
	(void)signo;
	atomic_fetch_add(&mistakes, 1);
}

static void begin_mode(const char *mode)
{
	sigset_t set = signal_set();
	pthread_t thread;

	if (!strcmp(mode, "children")) {
		signal(SIGCHLD, SIG_DFL);
		has_children = true;
		pthread_create(&thread, NULL, start_children, NULL);
	} else if (!strcmp(mode, "signals")) {
		pthread_create(&sending, NULL, send_signals, NULL);
	} else {
		for (int more = atoi(mode); more > 0; more--)
			pthread_create(&thread, NULL, sleep_long, NULL);
	}
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void read_all(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

/* A signal may still be on its way. */
static void end_signals(void)
{
	static const struct timespec moment = { .tv_nsec = 20000000 };

	has_sent_all = true;
	if (sending)
		pthread_join(sending, NULL);
	for (int i = 0; i < 500 && received < sent; i++)
		nanosleep(&moment, NULL);
}

int main(int argc, char **argv)
{
	static void *(*const works[])(void *) = { wait_in_turn, read_pipe, write_pipe, compute };
	struct sigaction on_queued = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const char *mode = argc > 1 ? argv[1] : "";
	sigset_t set = signal_set();
	pthread_t thread;

	if (!strcmp(mode, "child"))
		return CHILD_STATUS;
	signal(SIGCHLD, on_child);
	sigaction(SIGRTMIN + 3, &on_queued, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_init(&never, 0, 0);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pipe(wake_pipe))
		return 1;
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
		pthread_create(&thread, NULL, works[i], NULL);
	computing = thread;
	begin_mode(mode);
	puts("ready");
	fflush(stdout);
	read_all();
	end_signals();
	is_ended = true;
	if (strcmp(mode, "children") != 0 && waitpid(-1, NULL, WNOHANG) != -1)
		atomic_fetch_add(&mistakes, 1);
	if (received != sent)
		printf("%ld of %ld signals were received\n", received, sent);
	printf("%s\n", mistakes || calls < 10 || !results || received != sent ? "bad" : "ok");
	return mistakes || received != sent;
}
