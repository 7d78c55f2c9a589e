/* Interposes the calls that send bytes. Those on sockets with a timeout end at a signal where those
 * without are restarted by the kernel; and where there is no room for all, a signal ends them with
 * a part, which many programs take for an error. */
#include <sys/sendfile.h>

#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

static ssize_t write_part(int fd, void *data, size_t length, int flags)
{
	(void)flags;
	return SEND(fd, REAL(write)(fd, data, length));
}

static ssize_t send_part(int fd, void *data, size_t length, int flags)
{
	return SEND(fd, REAL(send)(fd, data, length, flags));
}

EXPORT ssize_t write(int fd, const void *data, size_t length)
{
	ssize_t done = SEND(fd, REAL(write)(fd, data, length));

	return CUT_SHORT(done) ? transfer_rest(write_part, fd, data, length, done, 0) : done;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t done = SEND(fd, REAL(writev)(fd, parts, count));

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest_of_vector(write_part, fd, parts, (size_t)count, done, 0);
}

EXPORT ssize_t send(int fd, const void *data, size_t length, int flags)
{
	ssize_t done = SEND(fd, REAL(send)(fd, data, length, flags));

	return CUT_SHORT(done) ? transfer_rest(send_part, fd, data, length, done, flags) : done;
}

/* Only a connected socket takes a part, and needs no address for the rest. */
EXPORT ssize_t sendto(int fd, const void *data, size_t length, int flags,
		      const struct sockaddr *address, socklen_t address_length)
{
	ssize_t done = SEND(fd, REAL(sendto)(fd, data, length, flags, address, address_length));

	return CUT_SHORT(done) ? transfer_rest(send_part, fd, data, length, done, flags) : done;
}

/* Control messages have gone with the first part. */
EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t done = SEND(fd, REAL(sendmsg)(fd, message, flags));

	if (!CUT_SHORT(done))
		return done;
	return transfer_rest_of_vector(send_part, fd, message->msg_iov, message->msg_iovlen, done,
				       flags);
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
	return SEND(fd, REAL(sendmmsg)(fd, messages, count, flags));
}

/* Made again, it goes on waiting for the connection that is under way. */
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	return TRANSFER(fd, SO_SNDTIMEO, EINPROGRESS, REAL(connect)(fd, address, length));
}

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO))
		__atomic_store_n(&transfer_timeouts, true, __ATOMIC_RELAXED);
	return REAL(setsockopt)(fd, level, option, value, length);
}

/* Copies COUNT bytes between two files, or a part of them; the offsets in ARGUMENTS move on. */
typedef ssize_t copy_part(const void *arguments, size_t count);

static ssize_t copy(copy_part *part, const void *arguments, size_t count)
{
	ssize_t done = part(arguments, count), n = done;
	int saved = errno;

	while (CUT_SHORT(n) && (size_t)done < count) {
		n = part(arguments, count - (size_t)done);
		done += n > 0 ? n : 0;
	}
	errno = saved;
	return done;
}

struct sendfile_arguments {
	int out, in;
	off_t *offset;
};

static ssize_t sendfile_part(const void *arguments, size_t count)
{
	const struct sendfile_arguments *a = arguments;

	return SEND(a->out, REAL(sendfile)(a->out, a->in, a->offset, count));
}

EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
	const struct sendfile_arguments arguments = { out, in, offset };

	return copy(sendfile_part, &arguments, count);
}

EXPORT ssize_t sendfile64(int out, int in, off_t *offset, size_t count)
{
	return sendfile(out, in, offset, count);
}

struct copy_file_range_arguments {
	int in, out;
	off_t *in_offset, *out_offset;
	unsigned int flags;
};

static ssize_t copy_file_range_part(const void *arguments, size_t count)
{
	const struct copy_file_range_arguments *a = arguments;

	return CALL_AGAIN(REAL(copy_file_range)(a->in, a->in_offset, a->out, a->out_offset, count,
						a->flags), );
}

EXPORT ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t count,
			       unsigned int flags)
{
	const struct copy_file_range_arguments arguments = { in, out, in_offset, out_offset,
							     flags };

	return copy(copy_file_range_part, &arguments, count);
}
