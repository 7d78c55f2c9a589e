/* What is left of a transfer that a sample cut short, and of a socket's timeout. */
#include "preload/interpose/transfer.h"

#include <poll.h>

#include "core/kernel.h"
#include "preload/interpose/real.h"
#include "preload/interpose/wait.h"

bool transfer_has_timeouts;
__thread uintptr_t transfer_frame;

long transfer_wait(const struct transfer *transfer, int fd, int option)
{
	struct pollfd ready = { .fd = fd, .events = option == SO_RCVTIMEO ? POLLIN : POLLOUT };
	struct timeval timeout;
	socklen_t length = sizeof(timeout);
	struct timespec time, left;
	long count;
	uint64_t end;

	if (kernel_call6(SYS_getsockopt, fd, SOL_SOCKET, option, (long)&timeout, (long)&length, 0))
		return 0; /* not a socket: the call itself will say */
	time.tv_sec = timeout.tv_sec;
	time.tv_nsec = timeout.tv_usec * 1000;
	end = wait_start(&time);
	if (!end)
		return 0; /* none */
	end -= clock_monotonic_ns() - transfer->start;
	do
		count = again_call(transfer->handled,
				   (const long[TRANSFER_LONGS]){
					   SYS_ppoll, (long)&ready, 1,
					   (long)wait_left_in(end, &time, &left), (long)NULL },
				   true);
	while (count == AGAIN_SAMPLED);
	if (!count)
		return -transfer->expired;
	return count < 0 ? count : 0;
}

long transfer_call_again(const struct transfer *transfer, const long call[TRANSFER_LONGS])
{
	long result;

	do {
		result = transfer->start ? transfer_wait(transfer, transfer->fd, transfer->option)
					 : 0;
		if (result)
			return result;
		result = again_call(transfer->handled, call, true);
	} while (result == AGAIN_SAMPLED);
	return result;
}

long transfer_call(const struct transfer *transfer, const long call[TRANSFER_LONGS])
{
	struct transfer part = *transfer;
	long result;

	if (part.start)
		part.start = clock_monotonic_ns();
	result = again_call(part.handled, call, true);
	return result == AGAIN_SAMPLED ? transfer_call_again(&part, call) : result;
}

/* Until only something else than a sample keeps PART from going on. Returns the bytes moved. */
static size_t move(const struct transfer *transfer, transfer_part *part, const char *data,
		   size_t length, long flags)
{
	long call[TRANSFER_LONGS] = { 0 };
	size_t done = 0;
	long n;

	do {
		part(call, transfer->fd, data + done, length - done, flags);
		n = transfer_call(transfer, call);
		done += n > 0 ? (size_t)n : 0;
	} while (n > 0 && done < length && sample_ended_it(SAMPLE_FRAME));
	return done;
}

ssize_t transfer_rest(const struct transfer *transfer, transfer_part *part, const void *data,
		      size_t length, ssize_t done, long flags)
{
	struct iovec piece = { .iov_base = (void *)(uintptr_t)data, .iov_len = length };

	return transfer_rest_of_vector(transfer, part, &piece, 1, done, flags);
}

/* Piece by piece: the rest of the one that the cut went through, and those behind it. */
ssize_t transfer_rest_of_vector(const struct transfer *transfer, transfer_part *part,
				const struct iovec *pieces, size_t count, ssize_t done, long flags)
{
	size_t skip = (size_t)done, length, moved;

	for (size_t i = 0; i < count; i++) {
		length = pieces[i].iov_len;
		if (skip >= length) {
			skip -= length;
			continue;
		}
		moved = move(transfer, part, (const char *)pieces[i].iov_base + skip, length - skip,
			     flags);
		done += (ssize_t)moved;
		if (moved < length - skip)
			break;
		skip = 0;
	}
	return done;
}
