/* Makes a call again that a sample, and nothing else, has ended, with no moment at which a signal of
 * the program's could go unnoticed: its handler has begun before, and is counted, or it finds the
 * thread in the few instructions up to the system call, and takes it behind them with EINTR
 * (program_handler.h), or it interrupts the call. What is made again is the system call itself, as
 * there is no telling where another preload or the C library is on its way to it. */
#ifndef PRELOAD_INTERPOSE_RESTART_H
#define PRELOAD_INTERPOSE_RESTART_H

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "preload/interpose/sample_note.h"

/* A system call's number and its arguments. */
#define TRANSFER_LONGS 7

/* Neither a result nor an error. */
#define AGAIN_SAMPLED (-4096L)

/* CALL, unless a handler of the program has begun since there were HANDLED: then, and when one
 * interrupts it, -EINTR. AGAIN_SAMPLED when a sample alone has, else what the kernel returns. It
 * is a point of cancellation where the call that it stands for is one, CANCELLABLE. */
long again_call(unsigned long handled, const long call[TRANSFER_LONGS], bool cancellable);

/* RESULT as the C library has it; where it is no error errno is ERROR, as it was at first. */
long again_value(long result, int error);

/* For the first instructions of a handler of the program: if CONTEXT stands before such a call,
 * that ends with EINTR. */
void again_end(ucontext_t *context);

/* The value of CALL, which fails with -1 and errno; where a sample alone has ended it, of the system
 * call that follows, made for as long as only samples interrupt it. Its arguments are longs, and
 * are worked out each time. */
#define CALL_AGAIN(call, ...)                                                                    \
	({                                                                                       \
		const unsigned long handled_ = sample_begin();                                   \
		__typeof__(call) value_ = (call);                                                \
                                                                                                 \
		if (__builtin_expect(value_ == -1, 0) && sample_interrupted_alone(SAMPLE_FRAME)) \
			value_ = (__typeof__(value_))AGAIN_VALUE(handled_, __VA_ARGS__);         \
		value_;                                                                          \
	})

/* Its second half. */
#define AGAIN_VALUE(handled, ...)                                                                 \
	({                                                                                        \
		const int error_ = sample_errno;                                                  \
		long again_;                                                                      \
                                                                                                  \
		do                                                                                \
			again_ = again_call(handled, (const long[TRANSFER_LONGS]){ __VA_ARGS__ }, \
					    true);                                                \
		while (again_ == AGAIN_SAMPLED);                                                  \
		again_value(again_, error_);                                                      \
	})

#endif
