/* A handler that runs for two seconds, far below the wait that it interrupts or on another stack. At the end of its input
 * the program prints "ok".
 *
 *   deep_handler BYTES   bytes of the handler's frame */
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

static volatile sig_atomic_t is_handled;
static size_t bytes;

static void on_signal(int signo)
{
	struct timespec left = { .tv_sec = 2 };
	volatile char *frame = __builtin_alloca(bytes);

	(void)signo;
	memset((void *)frame, 1, bytes);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	is_handled = 1;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int loop = epoll_create1(0);

	CHECK(argc == 2 && loop >= 0);
	bytes = (size_t)atol(argv[1]);
	CHECK(!epoll_ctl(loop, EPOLL_CTL_ADD, STDIN_FILENO, &event));
	signal(SIGUSR1, on_signal);
	printf("ready\n");
	fflush(stdout);
	while (epoll_wait(loop, &event, 1, -1) == -1)
		CHECK(errno == EINTR);
	CHECK(is_handled);
	puts("ok");
	return 0;
}
