/* Threads that wait for different causes, and measure these waits themselves. Prints for each its name, its cause, the
 * seconds of its waits and of its life, and the id of the thread that owns its lock or 0. A wait is measured without the
 * time on a processor and in the run queue.
 *
 *   wait_causes SECONDS DIRECTORY [THREADS [USER]]
 *
 * THREADS more compute all the time. The process becomes USER first. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define MS 1000000L

struct waiter {
	const char *name, *cause;
	void (*wait)(void); /* one wait */
	double waited, lived;
	pthread_t thread;
	_Atomic int *owner;
};

static double until;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static _Atomic int holder, writer;
static int pipe_ends[2], file, peers[2], events, loops[2];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * MS }, NULL);
}

/* The thread's seconds on a processor and in the run queue. */
static double not_blocked(void)
{
	static __thread int fd;
	unsigned long long queued = 0;
	struct timespec cpu;
	char text[80] = "";

	if (!fd)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
	CHECK(sscanf(text, "%*u %llu", &queued) == 1);
	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu));
	return (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9 + (double)queued / 1e9;
}

static void work(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		;
}

/* ---- What the waits are for ---- */

static void *holds(void *unused)
{
	prctl(PR_SET_NAME, "holder");
	holder = (int)syscall(SYS_gettid);
	while (now() < until) {
		pthread_mutex_lock(&held);
		pause_ms(60);
		pthread_mutex_unlock(&held);
		pause_ms(5);
	}
	return unused;
}

static void *writes(void *unused)
{
	prctl(PR_SET_NAME, "writer");
	writer = (int)syscall(SYS_gettid);
	while (now() < until) {
		pthread_rwlock_wrlock(&written);
		pause_ms(60);
		pthread_rwlock_unlock(&written);
		pause_ms(5);
	}
	return unused;
}

static void *feeds(void *unused)
{
	prctl(PR_SET_NAME, "feeder");
	for (;;) {
		pause_ms(30);
		if (write(pipe_ends[1], "x", 1) != 1 || eventfd_write(events, 1))
			return unused;
		sem_post(&semaphore);
	}
}

struct server {
	int fd;
	long delay_ms;
};

static void *serves(void *argument)
{
	struct server *server = argument;
	int fd = accept(server->fd, NULL, NULL);
	char byte;

	prctl(PR_SET_NAME, "server");
	while (read(fd, &byte, 1) == 1) {
		pause_ms(server->delay_ms);
		if (write(fd, &byte, 1) != 1)
			break;
	}
	return NULL;
}

static int connected_to(struct server *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	pthread_t thread;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	server->fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!bind(server->fd, (struct sockaddr *)&address, size) && !listen(server->fd, 1));
	CHECK(!getsockname(server->fd, (struct sockaddr *)&address, &size));
	CHECK(!pthread_create(&thread, NULL, serves, server));
	CHECK(!connect(fd, (struct sockaddr *)&address, size));
	return fd;
}

/* ---- The waits ---- */

static void wait_lock(void)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}

static void wait_rwlock(void)
{
	pthread_rwlock_rdlock(&written);
	pthread_rwlock_unlock(&written);
}

static void wait_condition(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += 40 * MS;
	if (end.tv_nsec >= 1000 * MS) {
		end.tv_nsec -= 1000 * MS;
		end.tv_sec++;
	}
	pthread_mutex_lock(&of_condition);
	pthread_cond_timedwait(&condition, &of_condition, &end);
	pthread_mutex_unlock(&of_condition);
}

static void wait_semaphore(void)
{
	while (sem_wait(&semaphore) && errno == EINTR)
		;
}

static void wait_pipe(void)
{
	char byte;

	CHECK(read(pipe_ends[0], &byte, 1) == 1);
}

static void wait_sleep(void)
{
	pause_ms(40);
}

static void wait_child(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		pause_ms(50);
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0) == child);
}

static void wait_peer(int fd)
{
	char byte = 'x';

	CHECK(send(fd, &byte, 1, 0) == 1 && recv(fd, &byte, 1, 0) == 1);
}

static void wait_near(void)
{
	wait_peer(peers[0]);
}

static void wait_far(void)
{
	wait_peer(peers[1]);
}

/* The event loop has no events: the wait ends by its timeout. */
static void wait_timer(void)
{
	struct epoll_event event;

	CHECK(epoll_wait(loops[0], &event, 1, 40) == 0);
}

/* The timeout is never reached. */
static void wait_event(void)
{
	struct epoll_event event;
	eventfd_t count;

	CHECK(epoll_wait(loops[1], &event, 1, 60000) == 1);
	CHECK(!eventfd_read(events, &count));
}

static void wait_file(void)
{
	static char block[1 << 16];

	CHECK(pwrite(file, block, sizeof(block), 0) == (ssize_t)sizeof(block));
	CHECK(!fsync(file));
}

static struct waiter waiters[] = {
	{ .name = "locks", .cause = "lock", .wait = wait_lock, .owner = &holder },
	{ .name = "reads", .cause = "lock", .wait = wait_rwlock, .owner = &writer },
	{ .name = "conditions", .cause = "condition", .wait = wait_condition },
	{ .name = "semaphores", .cause = "semaphore", .wait = wait_semaphore },
	{ .name = "pipes", .cause = "pipe-read", .wait = wait_pipe },
	{ .name = "sleeps", .cause = "sleep", .wait = wait_sleep },
	{ .name = "children", .cause = "child", .wait = wait_child },
	{ .name = "near", .cause = "socket-read", .wait = wait_near },
	{ .name = "far", .cause = "socket-read", .wait = wait_far },
	{ .name = "timers", .cause = "timer", .wait = wait_timer },
	{ .name = "events", .cause = "idle", .wait = wait_event },
	{ .name = "files", .cause = "file", .wait = wait_file },
};

#define WAITERS (sizeof(waiters) / sizeof(*waiters))

static void *waits(void *argument)
{
	struct waiter *waiter = argument;
	double start = now(), before;

	prctl(PR_SET_NAME, waiter->name);
	while (now() < until) {
		before = now() - not_blocked();
		waiter->wait();
		waiter->waited += now() - not_blocked() - before;
		work(0.003);
	}
	waiter->lived = now() - start;
	return NULL;
}

static struct waiter spinner = { .name = "spins", .cause = "running" };
static pthread_mutex_t of_spinner = PTHREAD_MUTEX_INITIALIZER;

/* All of them together; they do not wait. */
static void *spins(void *unused)
{
	struct timespec cpu;

	prctl(PR_SET_NAME, spinner.name);
	work(until - now());
	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu));
	pthread_mutex_lock(&of_spinner);
	spinner.waited += (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
	spinner.lived += not_blocked();
	pthread_mutex_unlock(&of_spinner);
	return unused;
}

static void print(const struct waiter *waiter)
{
	printf("%s %s %.3f %.3f %d\n", waiter->name, waiter->cause, waiter->waited, waiter->lived,
	       waiter->owner ? *waiter->owner : 0);
}

#define SPINNERS_MAX 64

int main(int argc, char **argv)
{
	static struct server near = { .delay_ms = 20 }, far = { .delay_ms = 60 };
	int spinners = argc > 3 ? atoi(argv[3]) : 0;
	pthread_t thread, spinning[SPINNERS_MAX];
	char path[4096];

	CHECK(argc >= 3 && spinners <= SPINNERS_MAX);
	until = now() + atof(argv[1]);
	snprintf(path, sizeof(path), "%s/written", argv[2]);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	events = eventfd(0, EFD_CLOEXEC);
	for (int i = 0; i < 2; i++)
		loops[i] = epoll_create1(EPOLL_CLOEXEC);
	CHECK(!epoll_ctl(loops[1], EPOLL_CTL_ADD, events,
			 &(struct epoll_event){ .events = EPOLLIN }));
	CHECK(file >= 0 && !pipe(pipe_ends) && !sem_init(&semaphore, 0, 0));
	if (argc > 4)
		CHECK(!setuid((uid_t)atoi(argv[4])));
	peers[0] = connected_to(&near);
	peers[1] = connected_to(&far);
	CHECK(!pthread_create(&thread, NULL, holds, NULL));
	CHECK(!pthread_create(&thread, NULL, writes, NULL));
	CHECK(!pthread_create(&thread, NULL, feeds, NULL));
	for (int i = 0; i < spinners; i++)
		CHECK(!pthread_create(&spinning[i], NULL, spins, NULL));
	for (size_t i = 0; i < WAITERS; i++)
		CHECK(!pthread_create(&waiters[i].thread, NULL, waits, &waiters[i]));
	for (size_t i = 0; i < WAITERS; i++)
		CHECK(!pthread_join(waiters[i].thread, NULL));
	for (int i = 0; i < spinners; i++)
		CHECK(!pthread_join(spinning[i], NULL));
	for (size_t i = 0; i < WAITERS; i++)
		print(&waiters[i]);
	if (spinners)
		print(&spinner);
	return 0;
}
