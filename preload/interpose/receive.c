/* Interposes the calls that receive bytes. On sockets with a timeout a signal ends them; without one the kernel
 * restarts them. Calls that fill their buffer if possible return early after a signal. */
#include <sys/random.h>

#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

static long enter_read(const long *call)
{
	return REAL(read)((int)call[1], (void *)call[2], (size_t)call[3]);
}

EXPORT ssize_t read(int fd, void *data, size_t length)
{
	ssize_t done = TRANSFER(REAL(read)(fd, data, length), enter_read, SYS_read, fd, (long)data,
				(long)length);

	if (__builtin_expect(mask_checks_reads, 0))
		mask_check_read(fd, data, done);
	return done;
}

EXPORT ssize_t __read_chk(int fd, void *data, size_t length, size_t size)
{
	return TRANSFER(REAL(__read_chk)(fd, data, length, size), enter_read, SYS_read, fd,
			(long)data, (long)length);
}

TRANSFER_CALL(ssize_t, readv, SYS_readv, (int fd, const struct iovec *parts, int count),
	      (fd, parts, count), ((int)call[1], (const struct iovec *)call[2], (int)call[3]), fd,
	      (long)parts, count)

#define PREAD(name)                                                                               \
	TRANSFER_AT(name, SYS_pread64, void *)                                                    \
                                                                                                  \
	EXPORT ssize_t __##name##_chk(int fd, void *data, size_t length, off_t offset,            \
				      size_t size)                                                \
	{                                                                                         \
		return TRANSFER(REAL(__##name##_chk)(fd, data, length, offset, size),             \
				enter_##name, SYS_pread64, fd, (long)data, (long)length, offset); \
	}

PREAD(pread)
PREAD(pread64)

TRANSFER_VECTOR(preadv, SYS_preadv)
TRANSFER_VECTOR(preadv64, SYS_preadv)
TRANSFER_VECTOR2(preadv2, SYS_preadv2)
TRANSFER_VECTOR2(preadv64v2, SYS_preadv2)

TRANSFER_CALL(ssize_t, getrandom, SYS_getrandom, (void *data, size_t length, unsigned int flags),
	      (data, length, flags), ((void *)call[1], (size_t)call[2], (unsigned int)call[3]),
	      (long)data, (long)length, flags)

/* The rest of a message has the same sender. */
TRANSFER_CALL(ssize_t, recv, SYS_recvfrom, (int fd, void *data, size_t length, int flags),
	      (fd, data, length, flags),
	      ((int)call[1], (void *)call[2], (size_t)call[3], (int)call[4]), fd, (long)data,
	      (long)length, flags)

EXPORT ssize_t __recv_chk(int fd, void *data, size_t length, size_t size, int flags)
{
	return TRANSFER(REAL(__recv_chk)(fd, data, length, size, flags), enter_recv, SYS_recvfrom,
			fd, (long)data, (long)length, flags);
}

TRANSFER_CALL(ssize_t, recvfrom, SYS_recvfrom,
	      (int fd, void *data, size_t length, int flags, struct sockaddr *address,
	       socklen_t *address_length),
	      (fd, data, length, flags, address, address_length),
	      ((int)call[1], (void *)call[2], (size_t)call[3], (int)call[4],
	       (struct sockaddr *)call[5], (socklen_t *)call[6]),
	      fd, (long)data, (long)length, flags, (long)address, (long)address_length)

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t length, size_t size, int flags,
			      struct sockaddr *address, socklen_t *address_length)
{
	return TRANSFER(
		REAL(__recvfrom_chk)(fd, data, length, size, flags, address, address_length),
		enter_recvfrom, SYS_recvfrom, fd, (long)data, (long)length, flags, (long)address,
		(long)address_length);
}

TRANSFER_CALL(ssize_t, recvmsg, SYS_recvmsg, (int fd, struct msghdr *message, int flags),
	      (fd, message, flags), ((int)call[1], (struct msghdr *)call[2], (int)call[3]), fd,
	      (long)message, flags)

TRANSFER_CALL(int, recvmmsg, SYS_recvmmsg,
	      (int fd, struct mmsghdr *messages, unsigned int count, int flags,
	       struct timespec *timeout),
	      (fd, messages, count, flags, timeout),
	      ((int)call[1], (struct mmsghdr *)call[2], (unsigned int)call[3], (int)call[4],
	       (struct timespec *)call[5]),
	      fd, (long)messages, count, flags, (long)timeout)

TRANSFER_CALL(int, accept, SYS_accept, (int fd, struct sockaddr *address, socklen_t *length),
	      (fd, address, length),
	      ((int)call[1], (struct sockaddr *)call[2], (socklen_t *)call[3]), fd, (long)address,
	      (long)length)

TRANSFER_CALL(int, accept4, SYS_accept4,
	      (int fd, struct sockaddr *address, socklen_t *length, int flags),
	      (fd, address, length, flags),
	      ((int)call[1], (struct sockaddr *)call[2], (socklen_t *)call[3], (int)call[4]), fd,
	      (long)address, (long)length, flags)
