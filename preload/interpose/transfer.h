/* Calls that transfer bytes, messages or connections: a sample neither ends them nor cuts them short. */
#ifndef PRELOAD_INTERPOSE_TRANSFER_H
#define PRELOAD_INTERPOSE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "preload/interpose/restart.h"

/* A system call's number and its arguments. */
#define TRANSFER_LONGS 7

/* Makes CALL by the next definition of a function. Returns -1 and sets errno on failure. */
typedef long transfer_enter(const long call[TRANSFER_LONGS]);

/* The program has set a timeout for a socket. Most programs never do; their calls have one extra load. */
extern bool transfer_has_timeouts;

/* The program has set SO_LINGER for a socket. */
extern bool transfer_has_linger;

uint64_t transfer_time(void);

/* Return the timeout of the socket that CALL waits for, in nanoseconds; -1 without one. Async-signal-safe. */
int64_t transfer_timeout_ns(const long call[TRANSFER_LONGS]);

/* Return CLOCK_MONOTONIC in nanoseconds if sockets may have timeouts; otherwise 0. */
static inline uint64_t transfer_start(void)
{
	bool limited = __atomic_load_n(&transfer_has_timeouts, __ATOMIC_RELAXED);

	return __builtin_expect(limited, 0) ? transfer_time() : 0;
}

/* Continue CALL, whose first try returned VALUE and was interrupted or cut short by a sample. Makes further tries by
 * ENTER, until all is done, or another cause ends the call. START is transfer_start() before the first try. Returns
 * the value of the whole call, with its errno. */
long transfer_continue(struct restart *restart, uintptr_t frame, uint64_t start, long value,
		       transfer_enter *enter, const long call[TRANSFER_LONGS]);

/* The value of FIRST, which makes the system call in the arguments that follow; ENTER repeats it or a part of it. */
#define TRANSFER(first, enter, ...)                                                   \
	({                                                                            \
		struct restart restart_ = restart_prepare();                          \
		uintptr_t interposed_ = interposed_begin(SAMPLE_FRAME);               \
		uint64_t start_ = transfer_start();                                   \
		__typeof__(first) value_ = (first);                                   \
                                                                                      \
		if (__builtin_expect(restart_may_follow(&restart_, SAMPLE_FRAME), 0)) \
			value_ = (__typeof__(value_))transfer_continue(               \
				&restart_, SAMPLE_FRAME, start_, (long)value_, enter, \
				(const long[TRANSFER_LONGS]){ __VA_ARGS__ });         \
		interposed_end(interposed_);                                          \
		value_;                                                               \
	})

/* Define the interposer NAME of system call NUMBER, and the function that repeats it. FIRST has its arguments by
 * PARAMETERS, AGAIN by the members of `call`. */
#define TRANSFER_CALL(result, name, number, parameters, first, again, ...)            \
	static long enter_##name(const long *call)                                    \
	{                                                                             \
		return REAL(name) again;                                              \
	}                                                                             \
                                                                                      \
	EXPORT result name parameters                                                 \
	{                                                                             \
		return TRANSFER(REAL(name) first, enter_##name, number, __VA_ARGS__); \
	}

/* These also have a second name, for 64-bit offsets. */
#define TRANSFER_AT(name, number, pointer)                                                        \
	TRANSFER_CALL(ssize_t, name, number, (int fd, pointer data, size_t length, off_t offset), \
		      (fd, data, length, offset),                                                 \
		      ((int)call[1], (pointer)call[2], (size_t)call[3], call[4]), fd, (long)data, \
		      (long)length, offset)

#define TRANSFER_VECTOR(name, number)                                                           \
	TRANSFER_CALL(ssize_t, name, number,                                                    \
		      (int fd, const struct iovec *parts, int count, off_t offset),             \
		      (fd, parts, count, offset),                                               \
		      ((int)call[1], (const struct iovec *)call[2], (int)call[3], call[4]), fd, \
		      (long)parts, count, offset)

/* (In the system call, the flags are two arguments after the offset, which has a high half.) */
#define TRANSFER_VECTOR2(name, number)                                                         \
	TRANSFER_CALL(ssize_t, name, number,                                                   \
		      (int fd, const struct iovec *parts, int count, off_t offset, int flags), \
		      (fd, parts, count, offset, flags),                                       \
		      ((int)call[1], (const struct iovec *)call[2], (int)call[3], call[4],     \
		       (int)call[6]),                                                          \
		      fd, (long)parts, count, offset, 0, flags)

#endif
