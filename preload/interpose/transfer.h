/* Calls that move bytes: a sample neither ends them nor cuts them short. */
#ifndef PRELOAD_INTERPOSE_TRANSFER_H
#define PRELOAD_INTERPOSE_TRANSFER_H

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/clock.h"
#include "preload/interpose/sample.h"

#define COLD __attribute__((noinline, cold))

/* The program has given a socket a timeout. Most never do; their calls cost a load more. */
extern bool transfer_timeouts;

/* The kernel measures the timeout from each call's beginning, so what is left of it, of OPTION
 * and since START, is waited for here. Returns 0 when the call can be made again, else -1 and
 * errno, EXPIRED when the time is over. */
int transfer_wait_rest(int fd, int option, uint64_t start, int expired);

/* The value of CALL on FD, made again after samples until OPTION's timeout is over. */
#define TRANSFER(fd, option, expired, call)                                                       \
	({                                                                                        \
		uint64_t start_ = __atomic_load_n(&transfer_timeouts, __ATOMIC_RELAXED)           \
					  ? clock_monotonic_ns()                                  \
					  : 0;                                                    \
                                                                                                  \
		CALL_AGAIN(call,                                                                  \
			   if (start_ && transfer_wait_rest(fd, option, start_, expired)) break); \
	})

#define RECEIVE(fd, call) TRANSFER(fd, SO_RCVTIMEO, EAGAIN, call)
#define SEND(fd, call)    TRANSFER(fd, SO_SNDTIMEO, EAGAIN, call)

/* True after a call that moved DONE bytes, when a sample may be why it moved no more. In the
 * function that made the call. */
#define CUT_SHORT(done) __builtin_expect((done) > 0 && sample_ended_it(SAMPLE_FRAME), 0)

/* Moves LENGTH bytes, or a part of them, as write(2) does. */
typedef ssize_t transfer_part(int fd, void *data, size_t length, int flags);

/* After DONE of LENGTH bytes of DATA: move the others too, for as long as only samples keep PART
 * from it. Returns the sum. errno is preserved: what has moved so far was no failure. */
ssize_t transfer_rest(transfer_part *part, int fd, const void *data, size_t length, ssize_t done,
		      int flags);
ssize_t transfer_rest_of_vector(transfer_part *part, int fd, const struct iovec *pieces,
				size_t count, ssize_t done, int flags);

#endif
