/* A program that an agent is put into while it runs. Threads make calls that wait and check what they return; others
 * compute, with registers of all kinds, and compare the results. At the end of its input it prints its mappings as before,
 * and "ok". With an argument, that many more threads sleep. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic bool is_ended;
static _Atomic long calls, results, mistakes;
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

static void *wait_in_turn(void *unused)
{
	static const struct timespec moment = { .tv_nsec = 20000000 };
	struct epoll_event event;
	struct timespec until;
	long result;

	while (!is_ended) {
		result = epoll_wait(epoll_fd, &event, 1, 20);
		check(result == 0, "epoll_wait", result);
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

static void *compute(void *unused)
{
	const double wanted = hot();

	while (!is_ended) {
		check(hot() == wanted, "computing", 0);
		atomic_fetch_add(&results, 1);
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

int main(int argc, char **argv)
{
	static void *(*const works[])(void *) = { wait_in_turn, read_pipe, write_pipe, compute };
	int more = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;
	char byte;

	signal(SIGCHLD, on_child);
	sem_init(&never, 0, 0);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pipe(wake_pipe))
		return 1;
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
		pthread_create(&thread, NULL, works[i], NULL);
	while (more--)
		pthread_create(&thread, NULL, sleep_long, NULL);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	is_ended = true;
	if (waitpid(-1, NULL, WNOHANG) != -1)
		atomic_fetch_add(&mistakes, 1);
	printf("%s\n", mistakes || calls < 10 || !results ? "bad" : "ok");
	return mistakes != 0;
}
