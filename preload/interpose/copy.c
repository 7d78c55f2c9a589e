/* Interposes the calls that move bytes between two files. One may be a socket with a timeout, whose
 * calls end at a signal where others are restarted by the kernel; and a signal ends a long copy with
 * a part of it. */
#include <fcntl.h>
#include <sys/sendfile.h>

#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

/* After DONE of LENGTH bytes: the others, by CALL, whose argument at LENGTH_AT is the number of those
 * that are left; the offsets that it points to move on by themselves. */
static COLD ssize_t copy_rest(const struct transfer *transfer, long call[TRANSFER_LONGS],
			      int length_at, size_t length, ssize_t done)
{
	long n;

	do {
		call[length_at] = (long)(length - (size_t)done);
		n = transfer_call(transfer, call);
		done += n > 0 ? n : 0;
	} while (n > 0 && (size_t)done < length && sample_ended_it(SAMPLE_FRAME));
	return done;
}

EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
	struct transfer transfer = SENDING(out);
	ssize_t done = TRANSFER(&transfer, REAL(sendfile)(out, in, offset, count), SYS_sendfile,
				out, in, (long)offset, (long)count);

	if (!CUT_SHORT(done))
		return done;
	return copy_rest(&transfer, (long[TRANSFER_LONGS]){ SYS_sendfile, out, in, (long)offset },
			 4, count, done);
}

EXPORT ssize_t sendfile64(int out, int in, off_t *offset, size_t count)
{
	return sendfile(out, in, offset, count);
}

EXPORT ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t count,
			       unsigned int flags)
{
	struct transfer transfer = { .handled = sample_begin() };
	ssize_t done = TRANSFER(&transfer,
				REAL(copy_file_range)(in, in_offset, out, out_offset, count, flags),
				SYS_copy_file_range, in, (long)in_offset, out, (long)out_offset,
				(long)count, flags);

	if (!CUT_SHORT(done))
		return done;
	return copy_rest(&transfer,
			 (long[TRANSFER_LONGS]){ SYS_copy_file_range, in, (long)in_offset, out,
						 (long)out_offset, 0, flags },
			 5, count, done);
}

/* Of the rest only one end is a pipe, and moves what there is: a part of that is no less. */
static COLD long splice_again(const struct transfer *in, int out, const long call[TRANSFER_LONGS])
{
	long result;

	do {
		result = in->start ? transfer_wait(in, in->fd, SO_RCVTIMEO) : 0;
		if (!result && in->start)
			result = transfer_wait(in, out, SO_SNDTIMEO);
		if (result)
			return result;
		result = again_call(in->handled, call, true);
	} while (result == AGAIN_SAMPLED);
	return result;
}

EXPORT ssize_t splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
		      unsigned int flags)
{
	struct transfer transfer = RECEIVING(in);
	ssize_t done = REAL(splice)(in, in_offset, out, out_offset, length, flags);
	int error = sample_errno;

	if (__builtin_expect(done != -1, 1) || !sample_interrupted_alone(SAMPLE_FRAME))
		return done;
	return again_value(
		splice_again(&transfer, out,
			     (const long[TRANSFER_LONGS]){ SYS_splice, in, (long)in_offset, out,
							   (long)out_offset, (long)length, flags }),
		error);
}
