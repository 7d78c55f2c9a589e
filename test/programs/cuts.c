/* Preloaded after the interposers: cut_tries() makes a sample cut the tries of a call short, or be noted at its end. The
 * sampling signal is a pipe's, which a write(2) sends to this thread before it returns 1, like a transfer. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/kernel.h"
#include "test/programs/check.h"
#include "test/programs/cuts.h"

#define SIGNAL 37 /* interpose_sampler.c's */
#define EXPORT __attribute__((visibility("default")))

static struct {
	int tries;
	size_t most;
	void (*then)(void);
} cut;

static int ends[2] = { -1, -1 };

static void open_pipe(void)
{
	struct f_owner_ex owner = { F_OWNER_TID, (pid_t)kernel_call4(SYS_gettid, 0, 0, 0, 0) };

	CHECK(!pipe(ends));
	CHECK(!fcntl(ends[0], F_SETOWN_EX, &owner) && !fcntl(ends[0], F_SETSIG, SIGNAL));
	CHECK(!fcntl(ends[0], F_SETFL, O_ASYNC));
}

EXPORT void cut_tries(int tries, size_t most, void (*then)(void))
{
	if (ends[0] < 0)
		open_pipe();
	cut.tries = tries;
	cut.most = most;
	cut.then = then;
}

static size_t cut_length(size_t length)
{
	return cut.tries && cut.most < length ? cut.most : length;
}

static long cut_end(long result)
{
	if (cut.tries && result > 0) {
		cut.tries--;
		if (cut.then)
			cut.then();
		kernel_call4(SYS_write, ends[1], (long)"", 1, 0);
	}
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

static long call6(long number, long a, long b, long c, long d, long e, long f)
{
	return cut_end(kernel_call6(number, a, b, c, d, e, f));
}

EXPORT ssize_t read(int fd, void *data, size_t length)
{
	return call6(SYS_read, fd, (long)data, (long)cut_length(length), 0, 0, 0);
}

EXPORT ssize_t recv(int fd, void *data, size_t length, int flags)
{
	return call6(SYS_recvfrom, fd, (long)data, (long)cut_length(length), flags, 0, 0);
}

EXPORT ssize_t send(int fd, const void *from, size_t length, int flags)
{
	return call6(SYS_sendto, fd, (long)from, (long)cut_length(length), flags, 0, 0);
}

EXPORT ssize_t sendto(int fd, const void *from, size_t length, int flags,
		      const struct sockaddr *address, socklen_t address_length)
{
	return call6(SYS_sendto, fd, (long)from, (long)cut_length(length), flags, (long)address,
		     (long)address_length);
}

EXPORT ssize_t write(int fd, const void *from, size_t length)
{
	return call6(SYS_write, fd, (long)from, (long)cut_length(length), 0, 0, 0);
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t length, off_t offset)
{
	return call6(SYS_pwrite64, fd, (long)from, (long)cut_length(length), offset, 0, 0);
}

EXPORT ssize_t copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t length,
			       unsigned int flags)
{
	return call6(SYS_copy_file_range, in, (long)in_at, out, (long)out_at,
		     (long)cut_length(length), flags);
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
		    struct timespec *timeout)
{
	return (int)call6(SYS_recvmmsg, fd, (long)messages, (long)cut_length(count), flags,
			  (long)timeout, 0);
}
