/* Interposes the calls that send bytes. On sockets with a timeout a signal ends them; without one the kernel
 * restarts them. If there is no space for all bytes, a signal ends them after a part, which many programs treat as
 * an error. */
#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

TRANSFER_CALL(ssize_t, write, SYS_write, (int fd, const void *data, size_t length),
	      (fd, data, length), ((int)call[1], (const void *)call[2], (size_t)call[3]), fd,
	      (long)data, (long)length)

TRANSFER_CALL(ssize_t, writev, SYS_writev, (int fd, const struct iovec *parts, int count),
	      (fd, parts, count), ((int)call[1], (const struct iovec *)call[2], (int)call[3]), fd,
	      (long)parts, count)

TRANSFER_AT(pwrite, SYS_pwrite64, const void *)
TRANSFER_AT(pwrite64, SYS_pwrite64, const void *)

TRANSFER_VECTOR(pwritev, SYS_pwritev)
TRANSFER_VECTOR(pwritev64, SYS_pwritev)
TRANSFER_VECTOR2(pwritev2, SYS_pwritev2)
TRANSFER_VECTOR2(pwritev64v2, SYS_pwritev2)

TRANSFER_CALL(ssize_t, send, SYS_sendto, (int fd, const void *data, size_t length, int flags),
	      (fd, data, length, flags),
	      ((int)call[1], (const void *)call[2], (size_t)call[3], (int)call[4]), fd, (long)data,
	      (long)length, flags)

/* Only a connected socket sends a part; it ignores the address. */
TRANSFER_CALL(ssize_t, sendto, SYS_sendto,
	      (int fd, const void *data, size_t length, int flags, const struct sockaddr *address,
	       socklen_t address_length),
	      (fd, data, length, flags, address, address_length),
	      ((int)call[1], (const void *)call[2], (size_t)call[3], (int)call[4],
	       (const struct sockaddr *)call[5], (socklen_t)call[6]),
	      fd, (long)data, (long)length, flags, (long)address, address_length)

/* Control messages were sent with the first part. */
TRANSFER_CALL(ssize_t, sendmsg, SYS_sendmsg, (int fd, const struct msghdr *message, int flags),
	      (fd, message, flags), ((int)call[1], (const struct msghdr *)call[2], (int)call[3]),
	      fd, (long)message, flags)

TRANSFER_CALL(int, sendmmsg, SYS_sendmmsg,
	      (int fd, struct mmsghdr *messages, unsigned int count, int flags),
	      (fd, messages, count, flags),
	      ((int)call[1], (struct mmsghdr *)call[2], (unsigned int)call[3], (int)call[4]), fd,
	      (long)messages, count, flags)

/* A repeated call continues to wait for the same connection. */
TRANSFER_CALL(int, connect, SYS_connect, (int fd, const struct sockaddr *address, socklen_t length),
	      (fd, address, length),
	      ((int)call[1], (const struct sockaddr *)call[2], (socklen_t)call[3]), fd,
	      (long)address, length)

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO))
		__atomic_store_n(&transfer_has_timeouts, true, __ATOMIC_RELAXED);
	if (level == SOL_SOCKET && option == SO_LINGER)
		__atomic_store_n(&transfer_has_linger, true, __ATOMIC_RELAXED);
	return REAL(setsockopt)(fd, level, option, value, length);
}
