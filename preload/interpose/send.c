/* Interposes the calls that send bytes. Those on sockets with a timeout end at a signal where those
 * without are restarted by the kernel; and where there is no room for all, a signal ends them with
 * a part, which many programs take for an error. */
#include "preload/interpose/real.h"
#include "preload/interpose/stream.h"
#include "preload/interpose/transfer.h"

static void write_part(long call[TRANSFER_LONGS], int fd, const void *data, size_t length,
		       long flags)
{
	(void)flags;
	call[0] = SYS_write;
	call[1] = fd;
	call[2] = (long)data;
	call[3] = (long)length;
}

static void send_part(long call[TRANSFER_LONGS], int fd, const void *data, size_t length,
		      long flags)
{
	call[0] = SYS_sendto;
	call[1] = fd;
	call[2] = (long)data;
	call[3] = (long)length;
	call[4] = flags;
}

EXPORT ssize_t write(int fd, const void *data, size_t length)
{
	struct transfer transfer = SENDING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(write)(fd, data, length), SYS_write, fd, (long)data,
				(long)length);

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest(&transfer, write_part, data, length, done, 0);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	struct transfer transfer = SENDING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(writev)(fd, parts, count), SYS_writev, fd,
				(long)parts, count);

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest_of_vector(&transfer, write_part, parts, (size_t)count, done, 0);
}

/* Only a connected socket takes a part, and needs no address for the rest. */
#define SENDTO(call, address, address_length)                                                \
	({                                                                                   \
		struct transfer transfer_ = SENDING(fd);                                     \
		ssize_t done_ =                                                              \
			TRANSFER(&transfer_, call, SYS_sendto, fd, (long)data, (long)length, \
				 flags, (long)(address), (long)(address_length));            \
                                                                                             \
		CUT_SHORT(done_)                                                             \
		? transfer_rest(&transfer_, send_part, data, length, done_, flags) : done_;  \
	})

EXPORT ssize_t send(int fd, const void *data, size_t length, int flags)
{
	return SENDTO(REAL(send)(fd, data, length, flags), NULL, 0);
}

EXPORT ssize_t sendto(int fd, const void *data, size_t length, int flags,
		      const struct sockaddr *address, socklen_t address_length)
{
	return SENDTO(REAL(sendto)(fd, data, length, flags, address, address_length), address,
		      address_length);
}

/* Control messages have gone with the first part. */
EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct transfer transfer = SENDING(fd);
	ssize_t done = TRANSFER(&transfer, REAL(sendmsg)(fd, message, flags), SYS_sendmsg, fd,
				(long)message, flags);

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest_of_vector(&transfer, send_part, message->msg_iov, message->msg_iovlen,
				       done, flags);
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
	struct transfer transfer = SENDING(fd);

	return TRANSFER(&transfer, REAL(sendmmsg)(fd, messages, count, flags), SYS_sendmmsg, fd,
			(long)messages, count, flags);
}

/* Made again, it goes on waiting for the connection that is under way. */
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	struct transfer transfer = transfer_begin(fd, SO_SNDTIMEO, EINPROGRESS);

	return TRANSFER(&transfer, REAL(connect)(fd, address, length), SYS_connect, fd,
			(long)address, length);
}

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO) &&
	    !__atomic_load_n(&transfer_has_timeouts, __ATOMIC_RELAXED)) {
		stream_find_code();
		__atomic_store_n(&transfer_has_timeouts, true, __ATOMIC_RELAXED);
	}
	if (level == SOL_SOCKET && option == SO_LINGER)
		__atomic_store_n(&transfer_has_linger, true, __ATOMIC_RELAXED);
	return REAL(setsockopt)(fd, level, option, value, length);
}
