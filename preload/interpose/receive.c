/* Interposes the calls that receive bytes. Those on sockets with a timeout end at a signal where
 * those without are restarted by the kernel. Those that fill their buffer whole, if they can, end
 * early at one: reads of /dev/zero and of random bytes, and of sockets with MSG_WAITALL. */
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/system.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

/* /dev/zero, /dev/urandom and their like, which fill any buffer. Of other files a part is what
 * there was to read. */
#define MEMORY_DEVICES 1

static COLD bool fills_any(int fd)
{
	struct stat st;

	return !system_stat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == MEMORY_DEVICES;
}

static void heap_read_part(long call[TRANSFER_LONGS], int fd, const void *data, size_t length,
			   long flags)
{
	(void)flags;
	call[0] = SYS_read;
	call[1] = fd;
	call[2] = (long)data;
	call[3] = (long)length;
}

static void recv_part(long call[TRANSFER_LONGS], int fd, const void *data, size_t length,
		      long flags)
{
	call[0] = SYS_recvfrom;
	call[1] = fd;
	call[2] = (long)data;
	call[3] = (long)length;
	call[4] = flags;
}

static void random_part(long call[TRANSFER_LONGS], int fd, const void *data, size_t length,
			long flags)
{
	(void)fd;
	call[0] = SYS_getrandom;
	call[1] = (long)data;
	call[2] = (long)length;
	call[3] = flags;
}

static bool wants_all(int flags)
{
	return (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
}

/* DONE, and then the rest of PIECES where a sample cut the read short. In its caller's frame, as
 * that is what the sample is told by. */
static inline __attribute__((always_inline)) ssize_t finish_read(const struct transfer *transfer,
								 const struct iovec *pieces,
								 size_t count, ssize_t done)
{
	if (!CUT_SHORT(done) || !fills_any(transfer->fd))
		return done;
	return transfer_rest_of_vector(transfer, heap_read_part, pieces, count, done, 0);
}

static inline __attribute__((always_inline)) ssize_t TRANSFER_CALL(const struct transfer *transfer,
								   void *data, size_t length,
								   ssize_t done, int flags)
{
	if (!CUT_SHORT(done) || !wants_all(flags))
		return done;
	return transfer_rest(transfer, recv_part, data, length, done, flags);
}

EXPORT ssize_t read(int fd, void *data, size_t length)
{
	struct iovec piece = { .iov_base = data, .iov_len = length };
	struct transfer transfer = RECEIVING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(read)(fd, data, length), SYS_read, fd, (long)data,
				(long)length);

	if (__builtin_expect(mask_checks_reads, 0))
		mask_check_read(fd, data, done);
	return finish_read(&transfer, &piece, 1, done);
}

EXPORT ssize_t __read_chk(int fd, void *data, size_t length, size_t size)
{
	struct iovec piece = { .iov_base = data, .iov_len = length };
	struct transfer transfer = RECEIVING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(__read_chk)(fd, data, length, size), SYS_read, fd,
				(long)data, (long)length);

	return finish_read(&transfer, &piece, 1, done);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	struct transfer transfer = RECEIVING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(readv)(fd, parts, count), SYS_readv, fd,
				(long)parts, count);

	return finish_read(&transfer, parts, (size_t)count, done);
}

EXPORT ssize_t getrandom(void *data, size_t length, unsigned int flags)
{
	struct transfer transfer = { .handled = sample_begin() };
	ssize_t done = TRANSFER(&transfer, REAL(getrandom)(data, length, flags), SYS_getrandom,
				(long)data, (long)length, flags);

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest(&transfer, random_part, data, length, done, flags);
}

#define RECV(transfer, call, address, address_length)                               \
	TRANSFER(transfer, call, SYS_recvfrom, fd, (long)data, (long)length, flags, \
		 (long)(address), (long)(address_length))

EXPORT ssize_t recv(int fd, void *data, size_t length, int flags)
{
	struct transfer transfer = RECEIVING(fd);
	ssize_t done = RECV(&transfer, REAL(recv)(fd, data, length, flags), NULL, NULL);

	return TRANSFER_CALL(&transfer, data, length, done, flags);
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t length, size_t size, int flags)
{
	struct transfer transfer = RECEIVING(fd);
	ssize_t done = RECV(&transfer, REAL(__recv_chk)(fd, data, length, size, flags), NULL, NULL);

	return TRANSFER_CALL(&transfer, data, length, done, flags);
}

EXPORT ssize_t recvfrom(int fd, void *data, size_t length, int flags, struct sockaddr *address,
			socklen_t *address_length)
{
	struct transfer transfer = RECEIVING(fd);
	ssize_t done =
		RECV(&transfer, REAL(recvfrom)(fd, data, length, flags, address, address_length),
		     address, address_length);

	return TRANSFER_CALL(&transfer, data, length, done, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t length, size_t size, int flags,
			      struct sockaddr *address, socklen_t *address_length)
{
	struct transfer transfer = RECEIVING(fd);
	ssize_t done =
		RECV(&transfer,
		     REAL(__recvfrom_chk)(fd, data, length, size, flags, address, address_length),
		     address, address_length);

	return TRANSFER_CALL(&transfer, data, length, done, flags);
}

/* With room for control messages it is left as it is: they would be lost with the rest. */
EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	bool plain = !message->msg_control;
	struct transfer transfer = RECEIVING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(recvmsg)(fd, message, flags), SYS_recvmsg, fd,
				(long)message, flags);

	if (!CUT_SHORT(done) || !wants_all(flags) || !plain)
		return done;
	return transfer_rest_of_vector(&transfer, recv_part, message->msg_iov, message->msg_iovlen,
				       done, flags);
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
		    struct timespec *timeout)
{
	struct transfer transfer = RECEIVING(fd);

	return TRANSFER(&transfer, REAL(recvmmsg)(fd, messages, count, flags, timeout),
			SYS_recvmmsg, fd, (long)messages, count, flags, (long)timeout);
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	struct transfer transfer = RECEIVING(fd);

	return TRANSFER(&transfer, REAL(accept)(fd, address, length), SYS_accept, fd, (long)address,
			(long)length);
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	struct transfer transfer = RECEIVING(fd);

	return TRANSFER(&transfer, REAL(accept4)(fd, address, length, flags), SYS_accept4, fd,
			(long)address, (long)length, flags);
}
