/* Threads that wait for moments, each time with another time limit, by calls that SA_RESTART does not restart. They make
 * CALLS of them, 10,000 without an argument. Prints "ready", each that failed, their number, and "ok" if none did. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2 /* of each kind */

static _Atomic long calls_left, failures;
static int epoll_fd, terminal, ring; /* -1: not permitted */
static unsigned long aio;

static int wait_epoll(long us)
{
	struct epoll_event event;

	return epoll_wait(epoll_fd, &event, 1, (int)(us / 1000));
}

static int wait_epoll_mask(long us)
{
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(epoll_fd, &event, 1, (int)(us / 1000), &none);
}

static int wait_select(long us)
{
	struct timeval time = { .tv_usec = us };

	return select(0, NULL, NULL, NULL, &time);
}

static int wait_pselect(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };
	sigset_t none;

	sigemptyset(&none);
	return pselect(0, NULL, NULL, NULL, &time, &none);
}

static int wait_signal(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	return sigtimedwait(&usr1, NULL, &time) == -1 && errno == EAGAIN ? 0 : -1;
}

static int wait_by_number(long us)
{
	struct epoll_event event;

	return (int)syscall(SYS_epoll_wait, epoll_fd, &event, 1, (int)(us / 1000));
}

/* With a mask and its size by an address. */
static int wait_aio(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };
	sigset_t none;
	struct {
		sigset_t *mask;
		size_t bytes;
	} pair = { &none, 8 };
	uint64_t event[4];

	sigemptyset(&none);
	return (int)syscall(SYS_io_pgetevents, aio, 1, 1, event, &time, &pair);
}

/* Many short calls: the kernel looks for a signal, and waits for a moment at most. */
static int wait_terminal(long us)
{
	for (long i = 0; i < us; i++)
		if (tcdrain(terminal))
			return -1;
	return 0;
}

/* With a structure, and without a mask. */
static int wait_ring(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };
	struct {
		uint64_t mask;
		uint32_t mask_bytes, shortest_us;
		uint64_t time;
	} wait = { .time = (uintptr_t)&time };

	if (ring < 0)
		return wait_epoll(us);
	return syscall(SYS_io_uring_enter, ring, 0, 1, 1 | 8, &wait, sizeof(wait)) == -1 &&
			       errno == ETIME
		       ? 0
		       : -1;
}

static const struct kind {
	const char *name;
	int (*wait)(long us);
} kinds[] = {
	{ "epoll_wait", wait_epoll },
	{ "epoll_pwait", wait_epoll_mask },
	{ "select", wait_select },
	{ "pselect", wait_pselect },
	{ "tcdrain", wait_terminal },
	{ "io_pgetevents", wait_aio },
	{ "io_uring_enter", wait_ring },
	{ "sigtimedwait", wait_signal },
	{ "epoll_wait by number", wait_by_number },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void *wait_repeatedly(void *argument)
{
	const struct kind *kind = argument;
	unsigned seed = (unsigned)(uintptr_t)&kind;

	while (atomic_fetch_sub(&calls_left, 1) > 0) {
		seed = seed * 1103515245 + 12345;
		if (!kind->wait(1000 + (seed >> 16) % 8192))
			continue;
		printf("%s: %s\n", kind->name, strerror(errno));
		atomic_fetch_add(&failures, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 10000;
	char ring_parameters[256] = { 0 };
	pthread_t threads[THREADS * KINDS];

	atomic_store(&calls_left, calls);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	ring = (int)syscall(SYS_io_uring_setup, 4, ring_parameters);
	if (syscall(SYS_io_setup, 4, &aio))
		return 1;
	for (size_t i = 0; i < THREADS * KINDS; i++)
		if (pthread_create(&threads[i], NULL, wait_repeatedly,
				   (void *)(uintptr_t)&kinds[i % KINDS]))
			return 1;
	puts("ready");
	fflush(stdout);
	for (size_t i = 0; i < THREADS * KINDS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld of %ld calls failed\n%s\n", failures, calls, failures ? "bad" : "ok");
	return failures != 0;
}
