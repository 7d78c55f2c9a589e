/* Calls with an address that cannot be read or written: each fails with EFAULT. Unknown flags of sigaltstack(2). */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

/* The compiler refuses constants. */
static void *volatile bad = (void *)8;

#define REFUSED(call) CHECK((call) == -1 && errno == EFAULT)

int main(void)
{
	struct timespec moment = { .tv_nsec = 1000 };
	struct epoll_event event;
	int epoll = epoll_create1(0);
	stack_t stack, unknown = { .ss_sp = &epoll, .ss_flags = 9999999, .ss_size = SIGSTKSZ };

	REFUSED(epoll_pwait(epoll, &event, 1, 0, bad));
	REFUSED(signalfd(-1, bad, 0));
	REFUSED(sigsuspend(bad));
	REFUSED(sigwaitinfo(bad, NULL));
	REFUSED(sigtimedwait(bad, NULL, &moment));
	REFUSED(sigaltstack(bad, NULL));
	REFUSED(sigaltstack(NULL, bad));
	CHECK(sigaltstack(&unknown, NULL) == -1 && errno == EINVAL);
	CHECK(!sigaltstack(NULL, &stack) && stack.ss_flags == SS_DISABLE);
	puts("ok");
	return 0;
}
