/* Interposes the calls that wait until a descriptor is ready: a sample does not end them, and they separate the
 * iterations of an event loop. */
#include <sys/epoll.h>

#include "engine/reading/memory_reader.h"
#include "engine/sample/loop_iterations.h"
#include "engine/sample/ready_wait.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/sandbox.h"
#include "preload/interpose/wait.h"

/* The value of CALL, which waits at EPOLL (-1: without epoll) between two iterations. If it GOES_ON, it is within
 * one. */
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

/* As RESTART(), and note how the wait ended. */
#define RESTART_READY(first, again)                                \
	RESTART_THEN(value_ == -1 && errno == EINTR, value_ == -1, \
		     ready_wait_end = ready_wait_end_of(value_), first, again)

/* Return the first descriptor of FDS, which may be invalid memory. */
static COLD int fds_first(const struct pollfd *fds)
{
	struct pollfd first;

	if (sandbox_is_entered() || !memory_copy(&first, (uintptr_t)fds, sizeof(first)))
		return -1;
	return first.fd;
}

static inline bool poll_continues_iteration(const struct pollfd *fds, nfds_t count)
{
	const struct loop_iteration *iteration = loop_iteration_own;

	return loop_iteration_continues(
		count, count == 1 && iteration && iteration->epoll >= 0 ? fds_first(fds) : -1);
}

static inline bool timeout_is_set(const struct timespec *timeout)
{
	return timeout && (timeout->tv_sec || timeout->tv_nsec);
}

#define POLL(name, ...)                                                                     \
	({                                                                                  \
		int64_t start_ = wait_start(timeout > 0);                                   \
                                                                                            \
		BETWEEN_LOOP_ITERATIONS(                                                    \
			poll_continues_iteration(fds, count), -1,                           \
			RESTART_READY(REAL(name)(fds, count, timeout, ##__VA_ARGS__),       \
				      REAL(name)(fds, count, wait_left_ms(start_, timeout), \
						 ##__VA_ARGS__)));                          \
	})

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return POLL(poll);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	return POLL(__poll_chk, size);
}

#define PPOLL(name, ...)                                                                           \
	({                                                                                         \
		int64_t start_ = wait_start(timeout_is_set(timeout));                              \
		struct timespec left_;                                                             \
		sigset_t copy_;                                                                    \
                                                                                                   \
		mask = mask_strip(mask, &copy_);                                                   \
		BETWEEN_LOOP_ITERATIONS(                                                           \
			poll_continues_iteration(fds, count), -1,                                  \
			WITH_MASK(                                                                 \
				mask,                                                              \
				RESTART_READY(                                                     \
					REAL(name)(fds, count, timeout, mask, ##__VA_ARGS__),      \
					REAL(name)(fds, count, wait_left(start_, timeout, &left_), \
						   mask, ##__VA_ARGS__))));                        \
	})

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	return PPOLL(ppoll);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t size)
{
	return PPOLL(__ppoll_chk, size);
}

/* Return the number of descriptors that select(2) waits for: 0, 1, or 2 for more. Sets *ONE to the last one. */
static COLD size_t count_sets(int count, fd_set *const sets[3], int *one)
{
	uint64_t all[FD_SETSIZE / 64] = { 0 }, words[FD_SETSIZE / 64];
	size_t found = 0, used = (size_t)(count + 63) / 64;

	if (count > FD_SETSIZE || sandbox_is_entered())
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
	const struct loop_iteration *iteration = loop_iteration_own;
	int one = -1;

	if (count <= 0 || (!sets[0] && !sets[1] && !sets[2]))
		return true;
	return iteration && iteration->epoll >= 0 &&
	       loop_iteration_continues(count_sets(count, sets, &one), one);
}

/* A failed call does not change the sets. glibc writes the remaining time to TIMEOUT, and the program may use it. */
static inline __attribute__((always_inline)) int select_now(int count, fd_set *readable,
							    fd_set *writable, fd_set *exceptional,
							    struct timeval *timeout)
{
	struct timeval given = timeout ? *timeout : (struct timeval){ 0 }, left = { .tv_sec = -1 };
	int64_t start = wait_start(given.tv_sec || given.tv_usec);
	int result =
		RESTART_READY(REAL(select)(count, readable, writable, exceptional, timeout),
			      REAL(select)(count, readable, writable, exceptional,
					   start ? wait_left_val(start, &given, &left) : timeout));

	if (__builtin_expect(left.tv_sec >= 0, 0) &&
	    (timeout->tv_sec != given.tv_sec || timeout->tv_usec != given.tv_usec))
		*timeout = left;
	return result;
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
	int64_t start = wait_start(timeout_is_set(timeout));
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		select_continues_iteration(count, (fd_set *[]){ readable, writable, exceptional }),
		-1,
		WITH_MASK(mask,
			  RESTART_READY(REAL(pselect)(count, readable, writable, exceptional,
						      timeout, mask),
					REAL(pselect)(count, readable, writable, exceptional,
						      wait_left(start, timeout, &left), mask))));
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	int64_t start = wait_start(timeout > 0);

	return BETWEEN_LOOP_ITERATIONS(
		false, epfd,
		RESTART_READY(REAL(epoll_wait)(epfd, events, max, timeout),
			      REAL(epoll_wait)(epfd, events, max, wait_left_ms(start, timeout))));
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	int64_t start = wait_start(timeout > 0);
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		false, epfd,
		WITH_MASK(mask,
			  RESTART_READY(REAL(epoll_pwait)(epfd, events, max, timeout, mask),
					REAL(epoll_pwait)(epfd, events, max,
							  wait_left_ms(start, timeout), mask))));
}

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	int64_t start = wait_start(timeout);
	struct timespec left;
	sigset_t copy;

	mask = mask_strip(mask, &copy);
	return BETWEEN_LOOP_ITERATIONS(
		false, epfd,
		WITH_MASK(mask, RESTART_READY(REAL(epoll_pwait2)(epfd, events, max, timeout, mask),
					      REAL(epoll_pwait2)(epfd, events, max,
								 wait_left(start, timeout, &left),
								 mask))));
}
