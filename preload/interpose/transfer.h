/* Calls that move bytes: a sample neither ends them nor cuts them short. */
#ifndef PRELOAD_INTERPOSE_TRANSFER_H
#define PRELOAD_INTERPOSE_TRANSFER_H

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/clock.h"
#include "preload/interpose/restart.h"

/* The program has given a socket a timeout. Most never do; their calls cost a load more. */
extern bool transfer_has_timeouts;

/* Where a socket may have one: the frame of the function that makes such a call now; 0: none does. */
extern __thread uintptr_t transfer_frame;

/* It has let a socket linger at its end. */
extern bool transfer_has_linger;

/* A call on FD, which OPTION's timeout may end with EXPIRED. */
struct transfer {
	unsigned long handled; /* of the program's handlers, when it began */
	uint64_t start;        /* 0: no socket has a timeout */
	int fd, option, expired;
};

static inline struct transfer transfer_begin(int fd, int option, int expired)
{
	bool lefts = __atomic_load_n(&transfer_has_timeouts, __ATOMIC_RELAXED);

	return (struct transfer){ .handled = sample_begin(),
				  .start = lefts ? clock_monotonic_ns() : 0,
				  .fd = fd,
				  .option = option,
				  .expired = expired };
}

#define RECEIVING(fd) transfer_begin(fd, SO_RCVTIMEO, EAGAIN)
#define SENDING(fd)   transfer_begin(fd, SO_SNDTIMEO, EAGAIN)

/* Wait until FD is ready, or for what is left of OPTION's timeout since TRANSFER's start: the kernel
 * measures that from each call's beginning. Returns 0 when the call can be made again, else an
 * error, negative. */
long transfer_wait(const struct transfer *transfer, int fd, int option);

/* Behind a sample: CALL, until its timeout is over, for as long as only samples interrupt it. Returns
 * what the kernel does. */
long transfer_call_again(const struct transfer *transfer, const long call[TRANSFER_LONGS]);

/* The value of CALL, which is part of TRANSFER, or of the system call that follows when a sample
 * alone has ended it. */
#define TRANSFER(transfer, call, ...)                                                              \
	({                                                                                         \
		const uint64_t limited_ = (transfer)->start;                                       \
		__typeof__(call) value_;                                                           \
		int error_;                                                                        \
                                                                                                   \
		if (__builtin_expect(limited_ != 0, 0))                                            \
			transfer_frame = SAMPLE_FRAME;                                             \
		value_ = (call);                                                                   \
		if (__builtin_expect(limited_ != 0, 0))                                            \
			transfer_frame = 0;                                                        \
		if (__builtin_expect(value_ == -1, 0) && sample_interrupted_alone(SAMPLE_FRAME)) { \
			error_ = sample_errno;                                                     \
			value_ = (__typeof__(value_))again_value(                                  \
				transfer_call_again(transfer,                                      \
						    (const long[TRANSFER_LONGS]){ __VA_ARGS__ }),  \
				error_);                                                           \
		}                                                                                  \
		value_;                                                                            \
	})

/* True after a call that moved DONE bytes, when a sample may be why it moved no more. In the
 * function that made the call. */
#define CUT_SHORT(done) __builtin_expect((done) > 0 && sample_ended_it(SAMPLE_FRAME), 0)

/* The system call that moves LENGTH bytes of DATA, or a part of them, in CALL. */
typedef void transfer_part(long call[TRANSFER_LONGS], int fd, const void *data, size_t length,
			   long flags);

/* After DONE of LENGTH bytes of DATA: move the others too, for as long as only samples keep PART
 * from it. Returns the sum. errno is preserved: what has moved so far was no failure. */
ssize_t transfer_rest(const struct transfer *transfer, transfer_part *part, const void *data,
		      size_t length, ssize_t done, long flags);
ssize_t transfer_rest_of_vector(const struct transfer *transfer, transfer_part *part,
				const struct iovec *pieces, size_t count, ssize_t done, long flags);

/* A part of a transfer: what the kernel returns to CALL, made again for as long as samples alone end
 * it before it has moved a byte. */
long transfer_call(const struct transfer *transfer, const long call[TRANSFER_LONGS]);

#endif
