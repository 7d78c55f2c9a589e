/* Interposes the calls that wait until a descriptor is ready: a sample does not end them. */
#include <sys/epoll.h>

#include "preload/interpose/again.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/wait.h"

/* poll(2) is not on every processor. */
#define POLL_AGAIN(call)                                    \
	CALL_AGAIN(call, SYS_ppoll, (long)fds, (long)count, \
		   (long)wait_left_of_ms(end, timeout, &left), (long)NULL, sizeof(uint64_t))

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t end = wait_end_ms(timeout);
	struct timespec left;

	return POLL_AGAIN(REAL(poll)(fds, count, timeout));
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	uint64_t end = wait_end_ms(timeout);
	struct timespec left;

	return POLL_AGAIN(REAL(__poll_chk)(fds, count, timeout, size));
}

#define PPOLL_AGAIN(call)                                   \
	CALL_AGAIN(call, SYS_ppoll, (long)fds, (long)count, \
		   (long)wait_left_in(end, timeout, &left), (long)mask, sizeof(uint64_t))

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return PPOLL_AGAIN(REAL(ppoll)(fds, count, timeout, mask));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t size)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return PPOLL_AGAIN(REAL(__ppoll_chk)(fds, count, timeout, mask, size));
}

/* What pselect6(2) takes for its mask. */
struct mask_argument {
	const sigset_t *mask;
	size_t size;
};

/* A failed call leaves the sets alone. The kernel writes the time that is left, and the program may
 * use it. */
static COLD int select_again(unsigned long handled, int count, fd_set *sets[3],
			     struct timeval *timeout, uint64_t end)
{
	struct timespec given = { 0 }, left;
	int result;

	if (timeout)
		given = (struct timespec){ timeout->tv_sec, timeout->tv_usec * 1000 };
	result = (int)AGAIN_VALUE(
		handled, SYS_pselect6, count, (long)sets[0], (long)sets[1], (long)sets[2],
		(long)wait_left_in(end, timeout ? &given : NULL, &left), (long)NULL);
	if (timeout) {
		timeout->tv_sec = left.tv_sec;
		timeout->tv_usec = left.tv_nsec / 1000;
	}
	return result;
}

EXPORT int select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		  struct timeval *timeout)
{
	unsigned long handled = sample_begin();
	uint64_t end = 0;
	int result;

	if (timeout && timeout->tv_sec >= 0 && timeout->tv_sec < INT32_MAX)
		end = wait_end_ns((uint64_t)timeout->tv_sec * 1000000000 +
				  (uint64_t)timeout->tv_usec * 1000);
	result = REAL(select)(count, readable, writable, exceptional, timeout);
	if (__builtin_expect(result != -1, 1) || !sample_interrupted_alone(SAMPLE_FRAME))
		return result;
	return select_again(handled, count, (fd_set *[]){ readable, writable, exceptional },
			    timeout, end);
}

EXPORT int pselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		   const struct timespec *timeout, const sigset_t *mask)
{
	struct mask_argument argument = { .size = sizeof(uint64_t) };
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	argument.mask = mask_strip(mask, &copy);
	return CALL_AGAIN(
		REAL(pselect)(count, readable, writable, exceptional, timeout, argument.mask),
		SYS_pselect6, count, (long)readable, (long)writable, (long)exceptional,
		(long)wait_left_in(end, timeout, &left), (long)&argument);
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	uint64_t end = wait_end_ms(timeout);

	return CALL_AGAIN(REAL(epoll_wait)(epfd, events, max, timeout), SYS_epoll_pwait, epfd,
			  (long)events, max, wait_left_ms(end, timeout), (long)NULL);
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	uint64_t end = wait_end_ms(timeout);
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(epoll_pwait)(epfd, events, max, timeout, mask), SYS_epoll_pwait,
			  epfd, (long)events, max, wait_left_ms(end, timeout), (long)mask,
			  sizeof(uint64_t));
}

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(epoll_pwait2)(epfd, events, max, timeout, mask), SYS_epoll_pwait2,
			  epfd, (long)events, max, (long)wait_left_in(end, timeout, &left),
			  (long)mask, sizeof(uint64_t));
}
