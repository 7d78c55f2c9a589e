/* Interposes the calls that wait until a descriptor is ready: a sample does not end them, and they part the turns
 * of an event loop from each other. */
#include <sys/epoll.h>

#include "engine/reading/memory_reader.h"
#include "engine/sample/loop_iterations.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/wait.h"

/* CALL, which waits at EPOLL (-1: at descriptors by themselves), between two turns; where it GOES_ON, in one. */
#define BETWEEN_LOOP_ITERATIONS(goes_on, epoll, call)          \
	({                                                     \
		const bool inside_ = (goes_on);                \
		int ready_;                                    \
                                                               \
		if (!inside_)                                  \
			loop_iteration_end();                  \
		ready_ = (call);                               \
		if (!inside_)                                  \
			loop_iteration_begin(ready_, (epoll)); \
		ready_;                                        \
	})

/* The first of one; FDS may lead nowhere. */
static COLD int fds_first(const struct pollfd *fds)
{
	struct pollfd first;

	return memory_copy(&first, (uintptr_t)fds, sizeof(first)) ? first.fd : -1;
}

static inline bool poll_continues_iteration(const struct pollfd *fds, nfds_t count)
{
	const struct turn *turn = loop_iteration_own;

	return loop_iteration_continues(
		count, count == 1 && turn && turn->epoll >= 0 ? fds_first(fds) : -1);
}

/* poll(2) is not on every processor. */
#define POLL_AGAIN(call)                                    \
	CALL_AGAIN(call, SYS_ppoll, (long)fds, (long)count, \
		   (long)wait_left_of_ms(end, timeout, &left), (long)NULL, sizeof(uint64_t))

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t end = wait_end_ms(timeout);
	struct timespec left;

	return BETWEEN_LOOP_ITERATIONS(poll_continues_iteration(fds, count), -1,
				       POLL_AGAIN(REAL(poll)(fds, count, timeout)));
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	uint64_t end = wait_end_ms(timeout);
	struct timespec left;

	return BETWEEN_LOOP_ITERATIONS(poll_continues_iteration(fds, count), -1,
				       POLL_AGAIN(REAL(__poll_chk)(fds, count, timeout, size)));
}

#define PPOLL_AGAIN(call)                                   \
	CALL_AGAIN(call, SYS_ppoll, (long)fds, (long)count, \
		   (long)wait_left_in(end, timeout, &left), (long)mask, sizeof(uint64_t))

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	uint64_t end = wait_start(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(poll_continues_iteration(fds, count), -1,
				       PPOLL_AGAIN(REAL(ppoll)(fds, count, timeout, mask)));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t size)
{
	uint64_t end = wait_start(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		poll_continues_iteration(fds, count), -1,
		PPOLL_AGAIN(REAL(__ppoll_chk)(fds, count, timeout, mask, size)));
}

/* What pselect6(2) takes for its mask. */
struct mask_argument {
	const sigset_t *mask;
	size_t size;
};

/* How many descriptors select(2) waits for, where one alone matters: 2 stands for more. ONE is the last. */
static COLD size_t count_sets(int count, fd_set *const sets[3], int *one)
{
	uint64_t all[FD_SETSIZE / 64] = { 0 }, words[FD_SETSIZE / 64];
	size_t found = 0, used = (size_t)(count + 63) / 64;

	if (count > FD_SETSIZE)
		return 2;
	for (size_t i = 0; i < 3; i++) {
		if (!sets[i] || !memory_copy(words, (uintptr_t)sets[i], used * sizeof(*words)))
			continue;
		for (size_t k = 0; k < used; k++)
			all[k] |= words[k];
	}
	for (int fd = 0; fd < count; fd++)
		if (all[fd / 64] >> (fd % 64) & 1) {
			*one = fd;
			found++;
		}
	return found < 2 ? found : 2;
}

static inline bool select_continues_iteration(int count, fd_set *const sets[3])
{
	const struct turn *turn = loop_iteration_own;
	int one = -1;

	if (count <= 0 || (!sets[0] && !sets[1] && !sets[2]))
		return true;
	return turn && turn->epoll >= 0 &&
	       loop_iteration_continues(count_sets(count, sets, &one), one);
}

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

static inline __attribute__((always_inline)) int select_now(int count, fd_set *readable,
							    fd_set *writable, fd_set *exceptional,
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

EXPORT int select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		  struct timeval *timeout)
{
	return BETWEEN_LOOP_ITERATIONS(
		select_continues_iteration(count, (fd_set *[]){ readable, writable, exceptional }),
		-1, select_now(count, readable, writable, exceptional, timeout));
}

EXPORT int pselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
		   const struct timespec *timeout, const sigset_t *mask)
{
	struct mask_argument argument = { .size = sizeof(uint64_t) };
	uint64_t end = wait_start(timeout);
	struct timespec left;
	sigset_t copy;

	argument.mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		select_continues_iteration(count, (fd_set *[]){ readable, writable, exceptional }),
		-1,
		CALL_AGAIN(REAL(pselect)(count, readable, writable, exceptional, timeout,
					 argument.mask),
			   SYS_pselect6, count, (long)readable, (long)writable, (long)exceptional,
			   (long)wait_left_in(end, timeout, &left), (long)&argument));
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	uint64_t end = wait_end_ms(timeout);

	return BETWEEN_LOOP_ITERATIONS(false, epfd,
				       CALL_AGAIN(REAL(epoll_wait)(epfd, events, max, timeout),
						  SYS_epoll_pwait, epfd, (long)events, max,
						  wait_left_ms(end, timeout), (long)NULL));
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	uint64_t end = wait_end_ms(timeout);
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		false, epfd,
		CALL_AGAIN(REAL(epoll_pwait)(epfd, events, max, timeout, mask), SYS_epoll_pwait,
			   epfd, (long)events, max, wait_left_ms(end, timeout), (long)mask,
			   sizeof(uint64_t)));
}

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t end = wait_start(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		false, epfd,
		CALL_AGAIN(REAL(epoll_pwait2)(epfd, events, max, timeout, mask), SYS_epoll_pwait2,
			   epfd, (long)events, max, (long)wait_left_in(end, timeout, &left),
			   (long)mask, sizeof(uint64_t)));
}
