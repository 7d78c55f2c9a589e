/* Interposes the calls that copy bytes between two files. If one is a socket with a timeout, a signal ends the call,
 * which the kernel otherwise restarts. A signal also ends a long copy early. */
#include <fcntl.h>
#include <sys/sendfile.h>

#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

#define SENDFILE(name)                                                                            \
	static long enter_##name(const long *call)                                                \
	{                                                                                         \
		return REAL(name)((int)call[1], (int)call[2], (off_t *)call[3], (size_t)call[4]); \
	}                                                                                         \
                                                                                                  \
	EXPORT ssize_t name(int out, int in, off_t *offset, size_t count)                         \
	{                                                                                         \
		return TRANSFER(REAL(name)(out, in, offset, count), enter_##name, SYS_sendfile,   \
				out, in, (long)offset, (long)count);                              \
	}

SENDFILE(sendfile)
SENDFILE(sendfile64)

static long enter_copy_file_range(const long *call)
{
	return REAL(copy_file_range)((int)call[1], (off_t *)call[2], (int)call[3], (off_t *)call[4],
				     (size_t)call[5], (unsigned int)call[6]);
}

EXPORT ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t count,
			       unsigned int flags)
{
	return TRANSFER(REAL(copy_file_range)(in, in_offset, out, out_offset, count, flags),
			enter_copy_file_range, SYS_copy_file_range, in, (long)in_offset, out,
			(long)out_offset, (long)count, flags);
}

static long enter_splice(const long *call)
{
	return REAL(splice)((int)call[1], (off_t *)call[2], (int)call[3], (off_t *)call[4],
			    (size_t)call[5], (unsigned int)call[6]);
}

EXPORT ssize_t splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
		      unsigned int flags)
{
	return TRANSFER(REAL(splice)(in, in_offset, out, out_offset, length, flags), enter_splice,
			SYS_splice, in, (long)in_offset, out, (long)out_offset, (long)length,
			flags);
}
