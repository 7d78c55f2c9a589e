/* Interposes the calls that receive bytes. Those on sockets with a timeout end at a signal where
 * those without are restarted by the kernel. Those that fill their buffer whole, if they can, end
 * early at one: reads of /dev/zero and of random bytes, and of sockets with MSG_WAITALL. */
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

/* /dev/zero, /dev/urandom and their like, which fill any buffer. Of other files a part is what
 * there was to read. */
#define MEMORY_DEVICES 1

static COLD bool fills_any(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == MEMORY_DEVICES;
}

static ssize_t read_part(int fd, void *data, size_t length, int flags)
{
	(void)flags;
	return RECEIVE(fd, REAL(read)(fd, data, length));
}

static ssize_t recv_part(int fd, void *data, size_t length, int flags)
{
	return RECEIVE(fd, REAL(recv)(fd, data, length, flags));
}

static ssize_t random_part(int fd, void *data, size_t length, int flags)
{
	(void)fd;
	return REAL(getrandom)(data, length, (unsigned int)flags);
}

static bool wants_all(int flags)
{
	return (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
}

/* DONE, and then the rest of PIECES where a sample cut the read short. In its caller's frame, as
 * that is what the sample is told by. */
static inline __attribute__((always_inline)) ssize_t finish_read(int fd, const struct iovec *pieces,
								 size_t count, ssize_t done)
{
	if (!CUT_SHORT(done) || !fills_any(fd))
		return done;
	return transfer_rest_of_vector(read_part, fd, pieces, count, done, 0);
}

static inline __attribute__((always_inline)) ssize_t finish_recv(int fd, void *data, size_t length,
								 ssize_t done, int flags)
{
	if (!CUT_SHORT(done) || !wants_all(flags))
		return done;
	return transfer_rest(recv_part, fd, data, length, done, flags);
}

EXPORT ssize_t read(int fd, void *data, size_t length)
{
	struct iovec piece = { .iov_base = data, .iov_len = length };

	return finish_read(fd, &piece, 1, RECEIVE(fd, REAL(read)(fd, data, length)));
}

EXPORT ssize_t __read_chk(int fd, void *data, size_t length, size_t size)
{
	struct iovec piece = { .iov_base = data, .iov_len = length };

	return finish_read(fd, &piece, 1, RECEIVE(fd, REAL(__read_chk)(fd, data, length, size)));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	return finish_read(fd, parts, (size_t)count, RECEIVE(fd, REAL(readv)(fd, parts, count)));
}

EXPORT ssize_t getrandom(void *data, size_t length, unsigned int flags)
{
	ssize_t done = CALL_AGAIN(REAL(getrandom)(data, length, flags), );

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest(random_part, -1, data, length, done, (int)flags);
}

EXPORT ssize_t recv(int fd, void *data, size_t length, int flags)
{
	ssize_t done = RECEIVE(fd, REAL(recv)(fd, data, length, flags));

	return finish_recv(fd, data, length, done, flags);
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t length, size_t size, int flags)
{
	ssize_t done = RECEIVE(fd, REAL(__recv_chk)(fd, data, length, size, flags));

	return finish_recv(fd, data, length, done, flags);
}

EXPORT ssize_t recvfrom(int fd, void *data, size_t length, int flags, struct sockaddr *address,
			socklen_t *address_length)
{
	ssize_t done =
		RECEIVE(fd, REAL(recvfrom)(fd, data, length, flags, address, address_length));

	return finish_recv(fd, data, length, done, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t length, size_t size, int flags,
			      struct sockaddr *address, socklen_t *address_length)
{
	ssize_t done = RECEIVE(
		fd, REAL(__recvfrom_chk)(fd, data, length, size, flags, address, address_length));

	return finish_recv(fd, data, length, done, flags);
}

/* With room for control messages it is left as it is: they would be lost with the rest. */
EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	bool plain = !message->msg_control;
	ssize_t done = RECEIVE(fd, REAL(recvmsg)(fd, message, flags));

	if (!CUT_SHORT(done) || !wants_all(flags) || !plain)
		return done;
	return transfer_rest_of_vector(recv_part, fd, message->msg_iov, message->msg_iovlen, done,
				       flags);
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
		    struct timespec *timeout)
{
	return RECEIVE(fd, REAL(recvmmsg)(fd, messages, count, flags, timeout));
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	return RECEIVE(fd, REAL(accept)(fd, address, length));
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	return RECEIVE(fd, REAL(accept4)(fd, address, length, flags));
}
