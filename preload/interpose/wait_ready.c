/* Interposes the calls that wait until a descriptor is ready: a sample does not end them. */
#include <sys/epoll.h>

#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/wait.h"

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t end = wait_end_ms(timeout);

	return CALL_AGAIN(REAL(poll)(fds, count, timeout), timeout = wait_left_ms(end, timeout));
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	uint64_t end = wait_end_ms(timeout);

	return CALL_AGAIN(REAL(__poll_chk)(fds, count, timeout, size),
			  timeout = wait_left_ms(end, timeout));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(ppoll)(fds, count, timeout, mask),
			  timeout = wait_left(end, timeout, &left));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t size)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(__ppoll_chk)(fds, count, timeout, mask, size),
			  timeout = wait_left(end, timeout, &left));
}

/* A failed call leaves the sets alone. The kernel writes the time that is left to TIMEOUT, but
 * not every C library hands it on. */
EXPORT int select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		  struct timeval *timeout)
{
	uint64_t end = 0, ns;

	if (timeout && timeout->tv_sec >= 0 && timeout->tv_sec < INT32_MAX)
		end = wait_end_ns((uint64_t)timeout->tv_sec * 1000000000 +
				  (uint64_t)timeout->tv_usec * 1000);
	return CALL_AGAIN(
		REAL(select)(count, readable, writable, exceptional, timeout), if (end) {
			ns = wait_left_ns(end);
			timeout->tv_sec = (time_t)(ns / 1000000000);
			timeout->tv_usec = (suseconds_t)(ns % 1000000000 / 1000);
		});
}

EXPORT int pselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		   const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(pselect)(count, readable, writable, exceptional, timeout, mask),
			  timeout = wait_left(end, timeout, &left));
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	uint64_t end = wait_end_ms(timeout);

	return CALL_AGAIN(REAL(epoll_wait)(epfd, events, max, timeout),
			  timeout = wait_left_ms(end, timeout));
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	uint64_t end = wait_end_ms(timeout);
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(epoll_pwait)(epfd, events, max, timeout, mask),
			  timeout = wait_left_ms(end, timeout));
}

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return CALL_AGAIN(REAL(epoll_pwait2)(epfd, events, max, timeout, mask),
			  timeout = wait_left(end, timeout, &left));
}
