/* Interposes calls on sockets with a timeout of their own (SO_RCVTIMEO, SO_SNDTIMEO), which end
 * at a signal where those without are restarted by the kernel. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/wait.h"

/* The program has given a socket a timeout. Most never do; their calls cost a load more. */
static bool timeouts;

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO))
		__atomic_store_n(&timeouts, true, __ATOMIC_RELAXED);
	return REAL(setsockopt)(fd, level, option, value, length);
}

/* The kernel measures the timeout from each call's beginning, so what is left of it is waited
 * for here, in ppoll. Returns 0 when the call can be made again, else -1 and errno, EXPIRED when
 * the time is over. */
static int wait_rest(int fd, int option, uint64_t start, int expired)
{
	struct pollfd ready = { .fd = fd, .events = option == SO_RCVTIMEO ? POLLIN : POLLOUT };
	struct timeval timeout;
	socklen_t length = sizeof(timeout);
	struct timespec time, left;
	uint64_t end;
	int count;

	if (getsockopt(fd, SOL_SOCKET, option, &timeout, &length))
		return 0; /* not a socket: the call itself will say */
	time.tv_sec = timeout.tv_sec;
	time.tv_nsec = timeout.tv_usec * 1000;
	end = wait_end(&time);
	if (!end)
		return 0; /* none */
	end -= clock_monotonic_ns() - start;
	count = ppoll(&ready, 1, wait_left(end, &time, &left), NULL);
	if (!count)
		errno = expired;
	return count > 0 ? 0 : -1;
}

/* CALL on the socket FD, made again after samples until OPTION's timeout is over. */
#define SOCKET_CALL(fd, option, expired, call)                                              \
	do {                                                                                \
		uint64_t start_;                                                            \
                                                                                            \
		if (!__atomic_load_n(&timeouts, __ATOMIC_RELAXED))                          \
			return call;                                                        \
		start_ = clock_monotonic_ns();                                              \
		return CALL_AGAIN(call, if (wait_rest(fd, option, start_, expired)) break); \
	} while (0)

#define RECEIVE(fd, call) SOCKET_CALL(fd, SO_RCVTIMEO, EAGAIN, call)
#define SEND(fd, call)    SOCKET_CALL(fd, SO_SNDTIMEO, EAGAIN, call)

EXPORT ssize_t read(int fd, void *data, size_t length)
{
	RECEIVE(fd, REAL(read)(fd, data, length));
}

EXPORT ssize_t __read_chk(int fd, void *data, size_t length, size_t size)
{
	RECEIVE(fd, REAL(__read_chk)(fd, data, length, size));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	RECEIVE(fd, REAL(readv)(fd, parts, count));
}

EXPORT ssize_t recv(int fd, void *data, size_t length, int flags)
{
	RECEIVE(fd, REAL(recv)(fd, data, length, flags));
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t length, size_t size, int flags)
{
	RECEIVE(fd, REAL(__recv_chk)(fd, data, length, size, flags));
}

EXPORT ssize_t recvfrom(int fd, void *data, size_t length, int flags, struct sockaddr *address,
			socklen_t *address_length)
{
	RECEIVE(fd, REAL(recvfrom)(fd, data, length, flags, address, address_length));
}

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t length, size_t size, int flags,
			      struct sockaddr *address, socklen_t *address_length)
{
	RECEIVE(fd, REAL(__recvfrom_chk)(fd, data, length, size, flags, address, address_length));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	RECEIVE(fd, REAL(recvmsg)(fd, message, flags));
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
		    struct timespec *timeout)
{
	RECEIVE(fd, REAL(recvmmsg)(fd, messages, count, flags, timeout));
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	RECEIVE(fd, REAL(accept)(fd, address, length));
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	RECEIVE(fd, REAL(accept4)(fd, address, length, flags));
}

EXPORT ssize_t write(int fd, const void *data, size_t length)
{
	SEND(fd, REAL(write)(fd, data, length));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	SEND(fd, REAL(writev)(fd, parts, count));
}

EXPORT ssize_t send(int fd, const void *data, size_t length, int flags)
{
	SEND(fd, REAL(send)(fd, data, length, flags));
}

EXPORT ssize_t sendto(int fd, const void *data, size_t length, int flags,
		      const struct sockaddr *address, socklen_t address_length)
{
	SEND(fd, REAL(sendto)(fd, data, length, flags, address, address_length));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	SEND(fd, REAL(sendmsg)(fd, message, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
	SEND(fd, REAL(sendmmsg)(fd, messages, count, flags));
}

/* Made again, it goes on waiting for the connection that is under way. */
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	SOCKET_CALL(fd, SO_SNDTIMEO, EINPROGRESS, REAL(connect)(fd, address, length));
}
