/* Interposes the calls that close a descriptor. Closing a socket with SO_LINGER waits until its data has arrived. A
 * signal ends that wait without EINTR, and afterwards the socket is gone. So samples are blocked meanwhile. */
#include <stdio.h>
#include <sys/socket.h>

#include "core/kernel.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

bool transfer_has_linger;

/* True when closing FD may wait: then samples are blocked, and BLOCKED is the previous mask. */
static COLD bool samples_block(int fd, uint64_t *blocked)
{
	struct linger linger = { 0 };
	socklen_t length = sizeof(linger);

	kernel_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_LINGER, (long)&linger, (long)&length, 0);
	if (!linger.l_onoff || !linger.l_linger)
		return false;
	return mask_block_samples(blocked);
}

/* The value of CALL, which closes FD. */
#define CLOSING(fd, call)                                                                  \
	({                                                                                 \
		uint64_t blocked_;                                                         \
		bool lingers_ = __atomic_load_n(&transfer_has_linger, __ATOMIC_RELAXED) && \
				samples_block(fd, &blocked_);                              \
		__typeof__(call) value_ = (call);                                          \
                                                                                           \
		if (__builtin_expect(lingers_, 0))                                         \
			mask_restore(&blocked_);                                           \
		value_;                                                                    \
	})

EXPORT int close(int fd)
{
	return CLOSING(fd, REAL(close)(fd));
}

EXPORT int fclose(FILE *stream)
{
	return CLOSING(fileno(stream), REAL(fclose)(stream));
}

EXPORT int dup2(int fd, int number)
{
	return CLOSING(number, REAL(dup2)(fd, number));
}

EXPORT int dup3(int fd, int number, int flags)
{
	return CLOSING(number, REAL(dup3)(fd, number, flags));
}
