/* still listen: accepts connections on a port of this machine, which it prints, and never answers.
 * still run FILE: a thread writes the time to FILE, again and again, while the program ends.
 * still FILE: prints the longest pause in milliseconds. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct {
	volatile int64_t last, longest; /* the longest time between two */
} * beats;

static void *beat_for_ever(void *unused)
{
	int64_t now;

	for (beats->last = now_ns();; beats->last = now) {
		now = now_ns();
		if (now - beats->last > beats->longest)
			beats->longest = now - beats->last;
	}
	return unused;
}

static void listen_for_ever(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, 100));
	CHECK(!getsockname(fd, (struct sockaddr *)&address, &length));
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int run = argc == 3 && !strcmp(argv[1], "run");
	pthread_t thread;
	int64_t ago;
	int fd;

	CHECK(argc > 1);
	if (!strcmp(argv[1], "listen"))
		listen_for_ever();
	fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, sizeof(*beats)));
	beats = mmap(NULL, sizeof(*beats), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(beats != MAP_FAILED);
	if (!run) {
		ago = now_ns() - beats->last;
		printf("%lld\n",
		       (long long)(ago > beats->longest ? ago : beats->longest) / 1000000);
		return 0;
	}
	for (int i = 0; !asprof_agent_running(); i++) {
		CHECK(i < 30000);
		usleep(1000);
	}
	CHECK(!pthread_create(&thread, NULL, beat_for_ever, NULL));
	usleep(200000);
	return 0;
}
