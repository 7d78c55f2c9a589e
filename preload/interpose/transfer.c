/* What is left of a transfer that a sample cut short, and of a socket's timeout. */
#include "preload/interpose/transfer.h"

#include <poll.h>

#include "preload/interpose/wait.h"

bool transfer_timeouts;

int transfer_wait_rest(int fd, int option, uint64_t start, int expired)
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

/* Until only something else than a sample keeps PART from going on. Returns the bytes moved. */
static size_t move(transfer_part *part, int fd, char *data, size_t length, int flags)
{
	size_t done = 0;
	ssize_t n;

	do {
		n = part(fd, data + done, length - done, flags);
		done += n > 0 ? (size_t)n : 0;
	} while (n > 0 && done < length && sample_ended_it(SAMPLE_FRAME));
	return done;
}

ssize_t transfer_rest(transfer_part *part, int fd, const void *data, size_t length, ssize_t done,
		      int flags)
{
	struct iovec piece = { .iov_base = (void *)(uintptr_t)data, .iov_len = length };

	return transfer_rest_of_vector(part, fd, &piece, 1, done, flags);
}

/* Piece by piece: the rest of the one that the cut went through, and those behind it. */
ssize_t transfer_rest_of_vector(transfer_part *part, int fd, const struct iovec *pieces,
				size_t count, ssize_t done, int flags)
{
	size_t skip = (size_t)done, length, moved;
	int saved = errno;

	for (size_t i = 0; i < count; i++) {
		length = pieces[i].iov_len;
		if (skip >= length) {
			skip -= length;
			continue;
		}
		moved = move(part, fd, (char *)pieces[i].iov_base + skip, length - skip, flags);
		done += (ssize_t)moved;
		if (moved < length - skip)
			break;
		skip = 0;
	}
	errno = saved;
	return done;
}
